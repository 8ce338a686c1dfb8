import type { Restored } from '../features/backup/backups.ts';
import type { AllRestored } from '../features/backup/file.ts';
import { renderTable, renderTime, wrap } from './table.ts';

/** What came of restoring one tenant. */
export function renderRestored({ restored, kept, protections, pins, rejections, at }: Restored): string {
  return [
    `Restored: ${restored.join(', ') || 'none'}. Newer ones kept: ${kept.join(', ') || 'none'}.`,
    `Tombstones, receipts and opt-outs put back: ${protections}; put back by hand before: ${pins}; rejections: ${rejections}.`,
    `The backup is of ${renderTime(at)}: who was forgotten or opted out after that has to be given again.`,
  ].join('\n');
}

/** What came of restoring a file of all tenants. */
export function renderAllRestored({ at, restored, failed }: AllRestored): string {
  const columns = ['tenant', 'logins', 'newer kept', 'protections', 'put back by hand', 'rejections'];
  const rows = restored.map((one) => [
    one.tenant,
    one.restored.length,
    one.kept.length,
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
