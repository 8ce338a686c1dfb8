import { Readable } from 'node:stream';
import type { Command } from 'commander';
import type { AllBackups } from '../../features/backup/backups.ts';
import type { AllRestored } from '../../features/backup/file.ts';
import type { Restored } from '../../features/backup/schemas.ts';
import type { Installation } from '../control/installation.ts';
import type { Acting } from '../control/recording.ts';
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
    .description('write an encrypted backup of every tenant to a new file')
    .requiredOption('--all <file>', 'file for the backup')
    .option('--json', 'print JSON')
    .action(({ all: file, json = false }: { all: string; json?: boolean }) =>
      withBackups(async (installation, backups, acting) => {
        const { backUpAll } = await import('../../features/backup/file.ts');
        await write(file, Readable.from(backUpAll(acting, installation, backups)));
        const without = installation.unusable.map(({ id }) => id);
        const report = { file, tenants: [...installation.tenants.keys()].length, without };
        const lacking = `Not included because of faults in the configuration: ${without.join(', ')}.`;
        print({ json }, report, () =>
          [`${file} contains ${report.tenants} tenants.`, ...(without.length === 0 ? [] : [wrap(lacking)])].join('\n'),
        );
        if (without.length > 0) exit(1);
      }),
    );
  program
    .command('restore')
    .description('restore missing state from such a file; replaces and removes nothing')
    .requiredOption('--all <file>', 'file with the backup')
    .option('--only <tenant...>', 'only these tenants of the file')
    .option('--json', 'print JSON')
    .action(({ all: file, only, json = false }: { all: string; only?: string[]; json?: boolean }) =>
      withBackups(async (installation, backups, acting) => {
        const { restoreAll } = await import('../../features/backup/file.ts');
        const result = await restoreAll(acting, { installation, backups }, () => lines(file), only ?? null);
        print({ json }, result, () => renderAllRestored(result), zoneOf(installation));
        if (result.failed.length > 0) exit(1);
      }),
    );
}

/** Renders the result of restoring one tenant. */
export function renderRestored({ restored, unchanged, protections, pins, rejections, at }: Restored): string {
  return [
    `Connections restored: ${restored.join(', ') || 'none'}. Newer connections kept: ${unchanged.join(', ') || 'none'}.`,
    `Restored tombstones, receipts and opt-outs: ${protections}; objects restored by undo: ${pins}; rejections: ${rejections}.`,
    `Backup time: ${renderTime(at)}. Repeat each forget and opt-out that came later.`,
  ].join('\n');
}

/** Renders the result of restoring a file of all tenants. */
function renderAllRestored({ at, restored, failed }: AllRestored): string {
  const columns = ['tenant', 'connections', 'newer kept', 'protections', 'restored by undo', 'rejections'];
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
    ...failed.map(({ tenant, code }) => wrap(`${tenant} differs from the file (${code}).`)),
    wrap(`Backup time: ${renderTime(Date.parse(at))}. Repeat each forget and opt-out that came later.`),
  ].join('\n');
}
