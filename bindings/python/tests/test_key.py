import copy
import pickle

import numpy as np
import pytest
import residuum


def test_a_key_is_a_value():
    key = residuum.Key(7).named("gradient").fold(3)
    assert key == residuum.Key(7).named("gradient").fold(3)
    assert key != residuum.Key(8).named("gradient").fold(3)
    draws = key.normal(1000)
    assert draws.dtype == np.float64
    assert np.array_equal(draws, key.normal(1000))
    assert sorted(key.permutation(10)) == list(range(10))
    for same in (pickle.loads(pickle.dumps(key)), copy.deepcopy(key)):
        assert same == key and hash(same) == hash(key)


def test_seeds_are_checked():
    with pytest.raises(OverflowError):
        residuum.Key(-1)
    with pytest.raises(TypeError):
        residuum.Key("seven")
