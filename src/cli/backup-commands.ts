import type { Command } from 'commander';
import type { Backups, Restored } from '../control/backups.ts';
import type { Installation } from '../control/installation.ts';
import type { Acting } from '../control/recording.ts';
import { type Asked, type Print, zoneOf } from './answer.ts';
import { renderTime } from './table.ts';

/** What the commands need of the command line. */
export interface BackupCommands {
  /** Opens the installation, does the work, closes it again. */
  withInstallation(work: (installation: Installation, acting: Acting) => Promise<void>): Promise<void>;
  withBackups(work: (installation: Installation, backups: Backups, acting: Acting) => Promise<void>): Promise<void>;
  /** A file's text, or that of standard input. */
  read(file: string | undefined): Promise<string>;
  out(text: string): void;
  print: Print;
}

/** Adds `credentials` and `accept-loss`. */
export function addBackups(
  program: Command,
  { withInstallation, withBackups, read, out, print }: BackupCommands,
): void {
  const credentials = program.command('credentials').description('keep a sealed copy of a tenant outside Redis');
  credentials
    .command('backup <tenant>')
    .description('print, sealed: logins, tombstones, receipts, opt-outs, and what was put back by hand')
    .action((tenant: string) =>
      withBackups(async (installation, backups, acting) => {
        const { backUp } = await import('../control/acts.ts');
        out(await backUp(acting, installation, backups, tenant));
      }),
    );
  credentials
    .command('restore <tenant> [file]')
    .description('put back what a backup (a file, else standard input) holds and what is missing; nothing is replaced')
    .option('--json', 'as JSON')
    .action((tenant: string, file: string | undefined, asked: Asked) =>
      withBackups(async (installation, backups, acting) => {
        const { restore } = await import('../control/acts.ts');
        const restored = await restore(acting, installation, backups, tenant, (await read(file)).trim());
        print(asked, restored, () => renderRestored(restored), zoneOf(installation, tenant));
      }),
    );
  program
    .command('accept-loss <tenant>')
    .description(
      'write and send of people again after the state was lost: nobody is known any more who must be kept out',
    )
    .option('--json', 'as JSON')
    .action((tenant: string, asked: Asked) =>
      withInstallation(async (installation, acting) => {
        const { acceptLoss } = await import('../control/acts.ts');
        const result = await acceptLoss(acting, installation, tenant);
        const done = 'What waited of people goes with the next cycle.';
        print(asked, result, () => (result.changed ? done : 'Nothing was lost that had to be accepted.'));
      }),
    );
}

function renderRestored({ restored, kept, protections, pins, at }: Restored): string {
  const logins = `Restored: ${restored.join(', ') || 'none'}. Newer ones kept: ${kept.join(', ') || 'none'}.`;
  if (at === null) return `${logins}\nThis backup holds logins alone: tombstones and opt-outs are not in it.`;
  return [
    logins,
    `Tombstones, receipts and opt-outs put back: ${protections}; put back by hand before: ${pins}.`,
    `The backup is of ${renderTime(at)}: who was forgotten or opted out after that has to be given again.`,
  ].join('\n');
}
