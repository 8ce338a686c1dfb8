import { text } from 'node:stream/consumers';
import { Command } from 'commander';
import type { ClinicSandbox } from '../../sandbox/clinic/index.ts';
import { addClinic } from '../../src/cli/clinic-commands.ts';
import { committedProfile } from '../clinic/open-client.ts';
import { openClinicAccess } from '../control/open-clinic-access.ts';
import { NEVER } from '../jobs/cycle.ts';

/** What a command did. */
export interface Ran {
  out: string;
  err: string;
  /** Files that it made. */
  written: Record<string, string>;
  thrown: unknown;
}

/** Runs `clinic …` against a sandbox that speaks as documented. @param files that it may read, beside those on the disk */
export async function runClinic(
  sandbox: Pick<ClinicSandbox, 'baseUrl'>,
  token: string,
  args: readonly string[],
  files: Record<string, string> = {},
): Promise<Ran> {
  const ran: Ran = { out: '', err: '', written: {}, thrown: null };
  const clinic = new Command('clinic').exitOverride().configureOutput({ writeErr: () => {} });
  addClinic(clinic, {
    withClinic: (_tenant, work) => work(openClinicAccess(sandbox, token, committedProfile('documented'))),
    read: async (file) => files[file] ?? '',
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
  await clinic.parseAsync([...args], { from: 'user' }).catch((error: unknown) => {
    ran.thrown = error;
  });
  return ran;
}
