import type { Command } from 'commander';
import type { Installation } from '../../control/installation.ts';
import type { LoginDesk } from '../../control/logins.ts';
import type { Acting } from '../../control/recording.ts';
import type { Print } from '../answer.ts';

/** What the command needs of the command line. */
export interface InitCommand {
  /** Opens the installation of a directory, does the work, closes it again. */
  withInstallation<Result>(
    dir: string,
    tenant: string,
    work: (installation: Installation, desk: LoginDesk, acting: Acting) => Promise<Result>,
  ): Promise<Result>;
  /** Checks the configuration of a directory. */
  check(dir: string): Promise<{ faults: readonly object[]; text: string }>;
  read(file: string): Promise<string>;
  print: Print;
  err(text: string): void;
  signal: AbortSignal;
  exit(code: number): void;
}

/** How a person sets up. */
export interface InitChoice {
  answers?: string;
  device?: boolean;
  json?: boolean;
}

/** Adds `init`. */
export function addInit(program: Command, given: InitCommand): void {
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
      await initialise(directory, choice, given);
    });
}
