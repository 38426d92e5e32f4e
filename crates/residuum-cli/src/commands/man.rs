use anyhow::Context as _;
use clap::CommandFactory;
use clap_mangen::Man;

use super::Context;
use crate::args::Arguments;
use crate::terminal;

pub fn man(context: &Context) -> anyhow::Result<bool> {
    for page in pages()? {
        match &context.out {
            None => terminal::print(&page.text)?,
            Some(folder) => {
                let path = folder.join(&page.file);
                std::fs::write(&path, &page.text)
                    .with_context(|| format!("cannot write {}", path.display()))?;
                terminal::print(&format!("written: {}\n", path.display()))?;
            }
        }
    }
    Ok(true)
}

/// One page, in roff.
struct Page {
    file: String,
    text: String,
}

/// The page of the program and of its commands, each followed by those of its subcommands.
fn pages() -> anyhow::Result<Vec<Page>> {
    let mut program = Arguments::command().disable_help_subcommand(true);
    program.build();
    let mut pages = Vec::new();
    collect(&program, &mut pages)?;
    Ok(pages)
}

fn collect(command: &clap::Command, pages: &mut Vec<Page>) -> anyhow::Result<()> {
    let source = concat!("residuum ", env!("CARGO_PKG_VERSION"));
    let man = Man::new(command.clone()).source(source);
    let mut text = Vec::new();
    man.render(&mut text)?;
    pages.push(Page { file: man.get_filename(), text: String::from_utf8(text)? });
    command.get_subcommands().try_for_each(|inner| collect(inner, pages))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn every_command_has_a_page_that_names_its_options() {
        let pages = pages().unwrap();
        let page = |name: &str| &pages.iter().find(|p| p.file == name).unwrap().text;
        for command in Arguments::command().get_subcommands() {
            let text = page(&format!("residuum-{}.1", command.get_name()));
            for option in command.get_arguments().filter_map(|a| a.get_long()) {
                // Roff writes a hyphen as \-.
                assert!(text.contains(&option.replace('-', "\\-")), "{}: --{option}", command.get_name());
            }
        }
        assert!(page("residuum.1").contains("residuum\\-run(1)"));
        assert!(page("residuum-device-show.1").contains("minimizer"));
        assert!(page("residuum-run.1").contains(".TH residuum-run 1"), "a page is found by its title");
        let mut files: Vec<&str> = pages.iter().map(|p| p.file.as_str()).collect();
        files.sort_unstable();
        files.dedup();
        assert_eq!(files.len(), pages.len());
    }
}
