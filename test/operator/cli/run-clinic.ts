import { text } from 'node:stream/consumers';
import { Command } from 'commander';
import type { ClinicSandbox } from '../../../sandbox/clinic/index.ts';
import { addClinic } from '../../../src/operator/cli/clinic-commands.ts';
import { committedProfile } from '../../clinic/open-client.ts';
import { NEVER } from '../../tenant/cycle.ts';
import { openActing } from '../control/acting.ts';
import { openClinicAccess } from '../control/open-clinic-access.ts';

/** What a command did. */
export interface Ran {
  out: string;
  err: string;
  /** Files that it made. */
  written: Record<string, string>;
  thrown: unknown;
}

/** What a command may read. */
export interface Given {
  /** Beside those on the disk. */
  files?: Record<string, string>;
  /** On standard input. Where it is absent, what is written after `--data` comes by it, as a person must give it. */
  input?: string;
}

/** Runs `clinic …` against a sandbox that speaks as documented. */
export async function runClinic(
  sandbox: Pick<ClinicSandbox, 'baseUrl'>,
  token: string,
  args: readonly string[],
  { files = {}, input }: Given = {},
): Promise<Ran> {
  const written = args.includes('--write') ? args.indexOf('--data') + 1 : 0;
  const isInline = input === undefined && written > 0 && /^[[{]/.test(args[written] ?? '');
  const typed = isInline ? args[written] : input;
  const ran: Ran = { out: '', err: '', written: {}, thrown: null };
  const clinic = new Command('clinic').exitOverride().configureOutput({ writeErr: () => {} });
  addClinic(clinic, {
    withClinic: (_tenant, work) =>
      work(openClinicAccess(sandbox, token, committedProfile('documented')), openActing({ log: null })),
    read: async (file) => (file === undefined ? (typed ?? '') : (files[file] ?? '')),
    async write(file, content) {
      ran.written[file] = typeof content === 'string' ? content : await text(content);
    },
    out: (line) => {
      ran.out += `${line}\n`;
    },
    err: (line) => {
      ran.err += `${line}\n`;
    },
    signal: NEVER,
  });
  await clinic.parseAsync(isInline ? args.with(written, '-') : [...args], { from: 'user' }).catch((error: unknown) => {
    ran.thrown = error;
  });
  return ran;
}
