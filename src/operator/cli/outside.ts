import type { Readable } from 'node:stream';
import type { ClinicProfile } from '../../clinic/schema/profile.ts';
import type { Progress } from '../../core/model/tasks.ts';
import type { AllBackups } from '../../features/backup/backups.ts';
import type { ConfigurationServices } from '../../features/managed-tenants/managed-tenants.ts';
import type { AccessServices } from '../control/access.ts';
import type { ClinicAccess } from '../control/clinic.ts';
import type { StateProbe } from '../control/doctor.ts';
import type { Installation } from '../control/installation.ts';
import type { LoginServices } from '../control/logins.ts';
import type { Acting } from '../control/recording.ts';
import type { Role } from '../control/roles.ts';
import type { OperationContext } from '../operations/operation.ts';
import type { ConfigCommand } from './check-commands.ts';
import type { ConfiguredNames } from './completion.ts';
import type { SetupWork } from './setup-commands.ts';

/** Environment of the commands, supplied by `command-line.ts`. */
export interface CliOutside {
  /** Environment variables. */
  readonly env: NodeJS.ProcessEnv;
  /** Opens the installation for the work, then closes the installation. */
  withInstallation<Result>(options: Wanted, work: (open: OpenInstallation) => Promise<Result>): Promise<Result>;
  /** Runs the daemon, or one role, until the process receives a stop signal. */
  run(options: GlobalOptions, role: Role): Promise<void>;
  /** Serves an assistant over standard input and output, until the assistant closes the input. */
  serveMcp(context: OperationContext, version: string): Promise<void>;
  readonly setup: SetupWork;
  /** Checks the configuration, which is usable with `faults` 0. */
  checkConfiguration(options: GlobalOptions): ReturnType<ConfigCommand['check']>;
  /** Aborts at the user's signal (Ctrl-C). */
  signal: AbortSignal;
  /** Returns a profile of the configuration. @throws ConfigurationError */
  profile(options: GlobalOptions, name: string): Promise<ClinicProfile>;
  /** Returns the names in a configuration directory, for completion. */
  names(directory: string): Promise<ConfiguredNames>;
  /** Yields the lines of a file from the beginning. @throws MirrorError `settings`, code `file-unusable` */
  lines(file: string): AsyncIterable<string>;
  /** Returns the text of a file, or of standard input. */
  read(file: string | undefined): Promise<string>;
  /** Creates a file; throws for an existing file, which remains unchanged. */
  write(file: string, content: string | Readable): Promise<void>;
  out(text: string): void;
  /** Prints prompts and progress, which are not part of the answer. */
  err(text: string): void;
  progress(): Progress & { end(): void };
  exit(code: number): void;
}

/** Default configuration directory. */
export const USUAL_CONFIG = 'config';

/** Options before the command. */
export interface GlobalOptions {
  config: string;
  /** Name given with `--as`. */
  as: string | null;
  /** Reason given with `--reason`. */
  reason: string | null;
}

/** Parts of the configuration that a command needs. */
export interface Wanted extends GlobalOptions {
  /** Tenant of a read-only command, so that files of other tenants are not read. Default: all tenants. */
  only?: string | undefined;
  /** The answer lists refused files. */
  reportsRefused?: boolean;
  /** The command checks the Redis setup. */
  isUnchecked?: boolean;
}

/** Open installation of a command. Services that few commands need load on first use. */
export interface OpenInstallation {
  installation: Installation;
  services(): Promise<LoginServices>;
  /** Returns the clinic API of a tenant. @throws MirrorError as `requireTenant` */
  clinic(tenant: string): Promise<ClinicAccess>;
  backups(): Promise<AllBackups>;
  access(): Promise<AccessServices>;
  /** Returns services that change tenant configurations. */
  configurations(): Promise<ConfigurationServices>;
  state(): Promise<StateProbe>;
  /** The operator, and the reason given. */
  acting: Acting;
  /** Public URL; null if no public port is open. */
  publicUrl: string | null;
}
