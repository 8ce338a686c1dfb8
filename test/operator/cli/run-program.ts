import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { type Command, CommanderError } from 'commander';
import { clinicProfileSchema } from '../../../src/clinic/schema/profile.ts';
import type { ConfiguredNames } from '../../../src/operator/cli/completion.ts';
import type { CliOutside, OpenInstallation } from '../../../src/operator/cli/outside.ts';
import { createProgram } from '../../../src/operator/cli/program.ts';
import { checkSpec } from '../../../src/setup/check-spec/command.ts';
import { initialise } from '../../../src/setup/init/initialise.ts';
import { probe } from '../../../src/setup/probe/command.ts';
import { NEVER } from '../../tenant/cycle.ts';
import { openActing } from '../control/acting.ts';
import { openInstallation } from '../control/open-installation.ts';

/** What a command line did. */
export interface Ran {
  out: string;
  err: string;
  /** What the process would end with: 0 when nobody says otherwise. */
  code: number;
  thrown: unknown;
  configs: string[];
  /** What daemons were run as. */
  roles: string[];
  written: Record<string, string>;
}

/** What is loaded when a command asks for it. */
type Later = 'services' | 'clinic' | 'backups' | 'access' | 'state';

/** What it works on, that which is loaded later too, and the files that it may read. */
export interface Given
  extends Partial<Omit<OpenInstallation, Later>>,
    Partial<{ [Part in Exclude<Later, 'clinic'>]: Awaited<ReturnType<OpenInstallation[Part]>> }> {
  clinic?: (tenant: string) => Awaited<ReturnType<OpenInstallation['clinic']>>;
  faults?: object[];
  files?: Record<string, string>;
  /** Told what is written that is not the answer. */
  onErr?(text: string): void;
}

/** Runs one command line in this process. @param create makes the program; default: the whole one */
export async function runProgram(
  args: readonly string[],
  given: Given,
  create: (outside: CliOutside) => Command = createProgram,
): Promise<Ran> {
  const ran: Ran = { out: '', err: '', code: 0, thrown: null, configs: [], roles: [], written: {} };
  const refuse = () => Promise.reject(new Error('not in this test'));
  const refusing = <Part>() => new Proxy({}, { get: (_, name) => (name === 'then' ? undefined : refuse) }) as Part;
  const { services: desk, clinic, backups, access, state, onErr, ...rest } = given;
  const outside: CliOutside = {
    async withInstallation(options, work) {
      ran.configs.push(options.config);
      return work({
        installation: openInstallation({ tenants: [] }),
        services: async () => desk ?? refusing(),
        clinic: async (tenant) => clinic?.(tenant) ?? refuse(),
        backups: async () => backups ?? { backup: refuse, restore: refuse, seal: (text) => text, open: (text) => text },
        access: async () => access ?? refusing(),
        configurations: async () => refusing(),
        state: async () => state ?? refusing(),
        acting: openActing({ log: null }),
        publicUrl: null,
        ...rest,
      });
    },
    serveMcp: refuse,
    setup: { initialise, checkSpec, probe },
    async run(options, role) {
      ran.configs.push(options.config);
      ran.roles.push(role);
    },
    checkConfiguration: async () => ({ faults: given.faults ?? [], warnings: [], text: 'the summary' }),
    env: {},
    signal: NEVER,
    profile: async () => clinicProfileSchema.parse({}),
    names: async () => NAMES,
    lines: (file) => Readable.from((given.files?.[file] ?? '').split('\n')),
    read: async (file) => given.files?.[file ?? ''] ?? `text of ${file}\n`,
    write: async (file, content) => {
      ran.written[file] = typeof content === 'string' ? content : await text(content);
    },
    out: (text) => {
      ran.out += `${text}\n`;
    },
    err: (text) => {
      ran.err += `${text}\n`;
      onErr?.(text);
    },
    progress: () => Object.assign(() => {}, { end: () => {} }),
    exit: (code) => {
      ran.code = code;
    },
  };
  await parse(create(outside), args, ran);
  return ran;
}

/** Has a program read its command line, and do what it says. */
async function parse(program: Command, args: readonly string[], ran: Ran): Promise<void> {
  for (const command of [program, ...descendants(program)]) {
    command.exitOverride().configureOutput({
      writeOut: (text) => {
        ran.out += text;
      },
      writeErr: (text) => {
        ran.err += text;
      },
    });
  }
  try {
    await program.parseAsync(['node', 'clinic-mirror', ...args]);
  } catch (error) {
    ran.thrown = error;
    if (error instanceof CommanderError) ran.code = error.exitCode;
  }
}

/** Names that completion finds in the files. */
const NAMES: ConfiguredNames = {
  tenants: () => ['aurora', 'belvedere'],
  targets: (tenant) => (tenant === 'aurora' ? ['doctor-1', 'room'] : []),
  connections: () => ['clinic', 'practice'],
};

function descendants(command: Command): Command[] {
  return command.commands.flatMap((each) => [each, ...descendants(each)]);
}
