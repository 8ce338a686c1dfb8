import type { Command } from 'commander';
import type { InitChoice, InitCommand } from './initialise.ts';

/** Adds `init`. */
export function addInit(program: Command, options: InitCommand): void {
  program
    .command('init [directory]')
    .description(
      'set up a clinic by questions: makes keys and files, logs in, and lets you choose what feeds which calendar',
    )
    .option('--answers <file>', 'answers from a YAML file, in place of questions')
    .option('--device', 'log in by codes that are typed in on another device, where this machine has no browser')
    .option('--json', 'what was made, as JSON')
    .action(async (directory = 'clinic', choice: InitChoice) => {
      const { initialise } = await import('./initialise.ts');
      await initialise(directory, choice, options);
    });
}
