import type { Command } from 'commander';
import type { ClinicProfile } from '../../clinic/schema/profile.ts';
import type { Progress } from '../../core/model/tasks.ts';
import type { ClinicAccess } from '../control/clinic.ts';
import type { Installation } from '../control/installation.ts';
import type { LoginServices } from '../control/logins.ts';
import type { Acting } from '../control/recording.ts';
import type { Asked, Print } from './output.ts';

/** Functions that the command line supplies to `init`. */
export interface InitCommand {
  /** Opens the installation of a directory for the work, then closes the installation. */
  withInstallation<Result>(
    dir: string,
    tenant: string,
    work: (installation: Installation, services: LoginServices, acting: Acting) => Promise<Result>,
  ): Promise<Result>;
  /** Checks the configuration of a directory. */
  check(dir: string): Promise<{ faults: readonly object[]; text: string }>;
  read(file: string): Promise<string>;
  print: Print;
  err(text: string): void;
  signal: AbortSignal;
  exit(code: number): void;
}

/** Options of `init`. */
export interface InitChoice extends Asked {
  answers?: string;
  device?: boolean;
}

/** Functions that the command line supplies to `check-spec`. */
export interface CheckSpecCommand {
  /** Returns a profile of the configuration. The built-in `documented` does not need a file. */
  profile(name: string): Promise<ClinicProfile>;
  read(file: string): Promise<string>;
  write(file: string, text: string): Promise<void>;
  print: Print;
  err(text: string): void;
  exit(code: number): void;
}

/** Options of `check-spec`. */
export interface CheckSpecChoice extends Asked {
  profile?: string;
  records?: string;
  write?: string;
}

/** Functions that the command line supplies to `clinic probe`. */
export interface ProbeCommand extends Pick<CheckSpecCommand, 'write' | 'print' | 'err' | 'exit'> {
  progress(): Progress & { end(): void };
  signal: AbortSignal;
}

/** Options of `clinic probe`. */
export interface ProbeChoice extends Asked {
  write?: string;
}

/** Work of the setup commands, in `setup/`. Loads when a command runs, because the daemon does not need it. */
export interface SetupWork {
  initialise(directory: string, choice: InitChoice, options: InitCommand): Promise<void>;
  checkSpec(file: string, choice: CheckSpecChoice, options: CheckSpecCommand): Promise<void>;
  probe(access: ClinicAccess, choice: ProbeChoice, options: ProbeCommand): Promise<void>;
}

/** Option of commands that propose a profile. */
const WRITE_OPTION = ['--write <file>', 'write the proposed profile to this file'] as const;

/** Adds `init`. */
export function addInit(program: Command, { setup, ...options }: InitCommand & { setup: SetupWork }): void {
  program
    .command('init [directory]')
    .description('set up a clinic with questions: keys, files, connections, calendars')
    .option('--answers <file>', 'answers from a YAML file, instead of questions')
    .option('--device', 'connect with codes for another device, if this host has no browser')
    .option('--json', 'print the created files and ids as JSON')
    .action((directory = 'clinic', choice: InitChoice) => setup.initialise(directory, choice, options));
}

/** Adds `check-spec`. */
export function addCheckSpec(program: Command, { setup, ...options }: CheckSpecCommand & { setup: SetupWork }): void {
  program
    .command('check-spec <file>')
    .description('compare an OpenAPI document with a profile and propose a profile')
    .option('--profile <name>', 'a profile of the configuration; default: documented')
    .option('--records <file>', 'JSON response of the appointment list; shows the readable fields')
    .option(...WRITE_OPTION)
    .option('--json', 'print JSON')
    .action((file: string, choice: CheckSpecChoice) => setup.checkSpec(file, choice, options));
}

/** Functions that `clinic probe` needs in addition to those of its work. */
interface ProbeAccess {
  setup: SetupWork;
  /** Opens the clinic of a tenant for the work, then closes the clinic. */
  withClinic(tenant: string, work: (access: ClinicAccess) => Promise<void>): Promise<void>;
}

/** Adds `clinic probe`. */
export function addProbe(clinic: Command, { setup, withClinic, ...options }: ProbeCommand & ProbeAccess): void {
  clinic
    .command('probe <tenant>')
    .description('send read requests to the clinic and propose a profile')
    .option(...WRITE_OPTION)
    .option('--json', 'print JSON')
    .action((tenant: string, choice: ProbeChoice) =>
      withClinic(tenant, (access) => setup.probe(access, choice, options)),
    );
}
