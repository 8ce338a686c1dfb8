import { Readable } from 'node:stream';
import type { Command } from 'commander';
import type { Installation } from '../control/installation.ts';
import type { Acting } from '../control/recording.ts';
import type { AllBackups, Restored } from '../features/backup/backups.ts';
import type { AllRestored } from '../features/backup/file.ts';
import { type Print, zoneOf } from './output.ts';
import { renderTable, renderTime, wrap } from './table.ts';

/** Functions that the command line supplies to the commands. */
interface BackupCommands {
  withBackups(work: (installation: Installation, backups: AllBackups, acting: Acting) => Promise<void>): Promise<void>;
  /** Yields the lines of a file from the beginning. */
  lines(file: string): AsyncIterable<string>;
  write(file: string, content: Readable): Promise<void>;
  print: Print;
  exit(code: number): void;
}

/** Adds `backup` and `restore` of all tenants. */
export function addBackups(program: Command, { withBackups, lines, write, print, exit }: BackupCommands): void {
  program
    .command('backup')
    .description('write what of all tenants can not be rebuilt into one new file, sealed')
    .requiredOption('--all <file>', 'the file')
    .option('--json', 'as JSON')
    .action(({ all: file, json = false }: { all: string; json?: boolean }) =>
      withBackups(async (installation, backups, acting) => {
        const { backUpAll } = await import('../features/backup/file.ts');
        await write(file, Readable.from(backUpAll(acting, installation, backups)));
        const without = installation.unusable.map(({ id }) => id);
        const report = { file, tenants: [...installation.tenants.keys()].length, without };
        const lacking = `Not in it, since their files have faults: ${without.join(', ')}.`;
        print({ json }, report, () =>
          [`${report.tenants} tenants are in ${file}.`, ...(without.length === 0 ? [] : [wrap(lacking)])].join('\n'),
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
        const { restoreAll } = await import('../features/backup/file.ts');
        const result = await restoreAll(acting, { installation, backups }, () => lines(file), only ?? null);
        print({ json }, result, () => renderAllRestored(result), zoneOf(installation));
        if (result.failed.length > 0) exit(1);
      }),
    );
}

/** Renders the result of restoring one tenant. */
export function renderRestored({ restored, unchanged, protections, pins, rejections, at }: Restored): string {
  return [
    `Restored: ${restored.join(', ') || 'none'}. Newer ones kept: ${unchanged.join(', ') || 'none'}.`,
    `Tombstones, receipts and opt-outs put back: ${protections}; put back by hand before: ${pins}; rejections: ${rejections}.`,
    `The backup is of ${renderTime(at)}: who was forgotten or opted out after that has to be given again.`,
  ].join('\n');
}

/** Renders the result of restoring a file of all tenants. */
function renderAllRestored({ at, restored, failed }: AllRestored): string {
  const columns = ['tenant', 'logins', 'newer kept', 'protections', 'put back by hand', 'rejections'];
  const rows = restored.map((one) => [
    one.tenant,
    one.restored.length,
    one.unchanged.length,
    one.protections,
    one.pins,
    one.rejections,
  ]);
  return [
    renderTable(columns, rows),
    ...failed.map(({ tenant, code }) => wrap(`${tenant} is not as in the file (${code}).`)),
    wrap(
      `The backup is of ${renderTime(Date.parse(at))}: who was forgotten or opted out after that has to be given again.`,
    ),
  ].join('\n');
}
