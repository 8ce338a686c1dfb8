import type { Readable } from 'node:stream';
import type { ClinicProfile } from '../clinic/schema/profile.ts';
import type { AccessServices } from '../control/access.ts';
import type { ClinicAccess } from '../control/clinic.ts';
import type { StateProbe } from '../control/doctor.ts';
import type { Installation } from '../control/installation.ts';
import type { LoginServices } from '../control/logins.ts';
import type { Acting } from '../control/recording.ts';
import type { Role } from '../control/roles.ts';
import type { AllBackups } from '../features/backup/backups.ts';
import type { ConfigurationServices } from '../features/managed-tenants/managed-tenants.ts';
import type { Progress } from '../model/tasks.ts';
import type { OperationContext } from '../operations/operation.ts';
import type { ConfigCommand } from './check-commands.ts';
import type { ConfiguredNames } from './completion.ts';

/** What the commands need from outside; `command-line.ts` gives it. */
export interface CliOutside {
  /** Variables of the environment. */
  readonly env: NodeJS.ProcessEnv;
  /** Opens the installation, does the work, closes it again. */
  withInstallation<Result>(options: Wanted, work: (open: OpenInstallation) => Promise<Result>): Promise<Result>;
  /** Runs the daemon, or a part of it, until it is told to end. */
  run(options: GlobalOptions, role: Role): Promise<void>;
  /** Answers questions of an assistant over standard input and output, until it ends them. */
  serveMcp(context: OperationContext, version: string): Promise<void>;
  /** Checks the configuration; `faults` 0 when it can be used. */
  checkConfiguration(options: GlobalOptions): ReturnType<ConfigCommand['check']>;
  /** Ends with the signal that a person gives (Ctrl-C). */
  signal: AbortSignal;
  /** One profile of the configuration. @throws ConfigurationError */
  profile(options: GlobalOptions, name: string): Promise<ClinicProfile>;
  /** Names in the files of a configuration's directory, for completion. */
  names(directory: string): Promise<ConfiguredNames>;
  /** A file's lines, from its beginning. @throws MirrorError `settings`, code `file-unusable` */
  lines(file: string): AsyncIterable<string>;
  /** A file's text, or that of standard input. */
  read(file: string | undefined): Promise<string>;
  /** Makes a file; one that is there stays as it is, and that is thrown. */
  write(file: string, content: string | Readable): Promise<void>;
  out(text: string): void;
  /** For what is not the answer: prompts and progress. */
  err(text: string): void;
  progress(): Progress & { end(): void };
  exit(code: number): void;
}

/** The directory of the configuration where none is named. */
export const USUAL_CONFIG = 'config';

/** Options before the command. */
export interface GlobalOptions {
  config: string;
  /** The name that the person gives. */
  as: string | null;
  /** Why they do what they do. */
  reason: string | null;
}

/** What a command needs of the configuration. */
export interface Wanted extends GlobalOptions {
  /** The one tenant that it looks at, where it changes nothing: files of others need not be read. Default: all. */
  only?: string | undefined;
  /** Its answer tells which files are refused. */
  reportsRefused?: boolean;
  /** It looks itself whether Redis is as it must be. */
  isUnchecked?: boolean;
}

/** What a command works on. What few commands need is loaded when it is asked for. */
export interface OpenInstallation {
  installation: Installation;
  services(): Promise<LoginServices>;
  /** The clinic API of a tenant. @throws MirrorError as `requireTenant` */
  clinic(tenant: string): Promise<ClinicAccess>;
  backups(): Promise<AllBackups>;
  access(): Promise<AccessServices>;
  /** What tenants are configured with. */
  configurations(): Promise<ConfigurationServices>;
  state(): Promise<StateProbe>;
  /** Who gives the command, and why. */
  acting: Acting;
  /** How others reach the public port; null where none is open. */
  publicUrl: string | null;
}
