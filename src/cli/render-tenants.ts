import type { CONFIGURATION_OPERATIONS } from '../features/managed-tenants/operations.ts';
import type { ResultOf } from '../operations/operation.ts';
import { renderFaults } from '../settings/faults.ts';
import { firstRows } from './paper.ts';
import { renderTable, wrap } from './table.ts';

type Operations = typeof CONFIGURATION_OPERATIONS;

/** Where each tenant is configured. */
export function renderSources({ items }: ResultOf<Operations['listConfigurations']>): string {
  if (items.length === 0) return 'There is no tenant.';
  const { shown, more } = firstRows(items, Number.POSITIVE_INFINITY);
  const table = renderTable(
    ['tenant', 'configured by', 'revision'],
    shown.map(({ tenant, file, revision }) => [tenant, file ?? 'managed', revision ?? '']),
  );
  return [table, ...more].join('\n');
}

/** How a tenant is configured, and what is wrong with it. */
export function renderDocument(document: ResultOf<Operations['readConfiguration']>): string {
  const { tenant, file, revision, yaml, secrets, faults } = document;
  const where = file === null ? `managed, revision ${revision}` : `configured by ${file}, which is edited there`;
  return [
    wrap(`${tenant}: ${where}.`),
    ...(secrets.length === 0 ? [] : [wrap(`Kept sealed: ${secrets.join(', ')}.`)]),
    ...(faults.length === 0 ? [] : [renderFaults(faults)]),
    ...(yaml === null ? [] : ['', yaml.trimEnd()]),
  ].join('\n');
}

/** Which tenants count as Redis has them. */
export function renderAccepted({ accepted }: ResultOf<Operations['acceptTenants']>): string {
  if (accepted.length === 0) return 'None of them is record-forged: nothing was changed.';
  return accepted
    .map(({ tenant, revision }) =>
      wrap(
        revision === null
          ? `The tenant ${tenant} counts as removed from now on.`
          : `The tenant ${tenant} counts as Redis has it from now on, revision ${revision}.`,
      ),
    )
    .join('\n');
}

/** What a removed tenant leaves. */
export function renderRemoved({ tenant, file }: ResultOf<Operations['removeTenant']>): string {
  if (file !== null) {
    return wrap(
      `The tenant ${tenant} is configured by ${file} from now on; its state and logins stay. That it has no faults is told by: clinic-mirror config check`,
    );
  }
  return wrap(`The tenant ${tenant} is removed. What is kept of it goes later, and what it wrote elsewhere stays.`);
}
