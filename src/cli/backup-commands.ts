import { Readable } from 'node:stream';
import type { Command } from 'commander';
import type { AllRestored } from '../control/backup-file.ts';
import type { AllBackups, Restored } from '../control/backups.ts';
import type { Installation } from '../control/installation.ts';
import type { Acting } from '../control/recording.ts';
import { type Asked, type Print, zoneOf } from './answer.ts';
import { renderTable, renderTime, wrap } from './table.ts';

/** What the commands need of the command line. */
export interface BackupCommands {
  /** Opens the installation, does the work, closes it again. */
  withInstallation(work: (installation: Installation, acting: Acting) => Promise<void>): Promise<void>;
  withBackups(work: (installation: Installation, backups: AllBackups, acting: Acting) => Promise<void>): Promise<void>;
  /** A file's text, or that of standard input. */
  read(file: string | undefined): Promise<string>;
  /** A file's lines, from its beginning. */
  lines(file: string): AsyncIterable<string>;
  write(file: string, content: Readable): Promise<void>;
  out(text: string): void;
  print: Print;
  exit(code: number): void;
}

/** Adds `backup`, `restore`, `credentials` and `accept-loss`. */
export function addBackups(program: Command, given: BackupCommands): void {
  addAll(program, given);
  addOfOne(program, given);
  program
    .command('accept-loss <tenant>')
    .description(
      'write and send of people again after the state was lost: nobody is known any more who must be kept out',
    )
    .option('--json', 'as JSON')
    .action((tenant: string, asked: Asked) =>
      given.withInstallation(async (installation, acting) => {
        const { acceptLoss } = await import('../control/acts.ts');
        const result = await acceptLoss(acting, installation, tenant);
        const done = 'What waited of people goes with the next cycle.';
        given.print(asked, result, () => (result.changed ? done : 'Nothing was lost that had to be accepted.'));
      }),
    );
}

function addAll(program: Command, { withBackups, lines, write, print, exit }: BackupCommands): void {
  program
    .command('backup')
    .description('write what of all tenants can not be rebuilt into one new file, sealed')
    .requiredOption('--all <file>', 'the file')
    .option('--json', 'as JSON')
    .action(({ all: file, json = false }: { all: string; json?: boolean }) =>
      withBackups(async (installation, backups, acting) => {
        const { backUpAll } = await import('../control/backup-file.ts');
        await write(file, Readable.from(backUpAll(acting, installation, backups)));
        const without = installation.setAside.map(({ id }) => id);
        const told = { file, tenants: [...installation.tenants.keys()].length, without };
        const lacking = `Not in it, since their files have faults: ${without.join(', ')}.`;
        print({ json }, told, () =>
          [`${told.tenants} tenants are in ${file}.`, ...(without.length === 0 ? [] : [wrap(lacking)])].join('\n'),
        );
        if (without.length > 0) exit(1);
      }),
    );
  program
    .command('restore')
    .description('put back what such a file holds and what is missing; nothing that stands is replaced or removed')
    .requiredOption('--all <file>', 'the file')
    .option('--only <tenant...>', 'these tenants of it alone')
    .option('--json', 'as JSON')
    .action(({ all: file, only, json = false }: { all: string; only?: string[]; json?: boolean }) =>
      withBackups(async (installation, backups, acting) => {
        const { restoreAll } = await import('../control/backup-file.ts');
        const result = await restoreAll(acting, installation, backups, () => lines(file), only ?? null);
        print({ json }, result, () => renderAllRestored(result), zoneOf(installation));
        if (result.failed.length > 0) exit(1);
      }),
    );
}

function addOfOne(program: Command, { withBackups, read, out, print }: BackupCommands): void {
  const credentials = program.command('credentials').description('keep a sealed copy of one tenant outside Redis');
  credentials
    .command('backup <tenant>')
    .description('print, sealed: logins, tombstones, receipts, opt-outs, rejections, and what was put back by hand')
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
}

function renderRestored({ restored, kept, protections, pins, rejections, at }: Restored): string {
  return [
    `Restored: ${restored.join(', ') || 'none'}. Newer ones kept: ${kept.join(', ') || 'none'}.`,
    `Tombstones, receipts and opt-outs put back: ${protections}; put back by hand before: ${pins}; rejections: ${rejections}.`,
    `The backup is of ${renderTime(at)}: who was forgotten or opted out after that has to be given again.`,
  ].join('\n');
}

function renderAllRestored({ at, restored, failed }: AllRestored): string {
  const columns = [
    { heading: 'tenant' },
    ...['logins', 'newer kept', 'protections', 'put back by hand', 'rejections'].map((heading) => ({
      heading,
      right: true,
    })),
  ];
  const rows = restored.map((one) => [
    one.tenant,
    ...[one.restored.length, one.kept.length, one.protections, one.pins, one.rejections].map(String),
  ]);
  return [
    renderTable(columns, rows),
    ...failed.map(({ tenant, code }) => wrap(`${tenant} is not as in the file (${code}).`)),
    wrap(
      `The backup is of ${renderTime(Date.parse(at))}: who was forgotten or opted out after that has to be given again.`,
    ),
  ].join('\n');
}
