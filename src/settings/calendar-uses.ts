import { hash } from 'node:crypto';
import type { CalendarUse } from './configuration.ts';
import { sortedJson } from './cross-checks.ts';
import { keysAt, type YamlFile } from './yaml-file.ts';

/** Parts of a login that tell whose it is. */
const ACCOUNT_PARTS = ['account', 'username', 'subject', 'keyFile'];

/**
 * Which agendas a tenant's file writes into which calendars, where the file does not name its clinic: two files with a use in common are of one clinic.
 * Every agenda of a clinic counts only with a login whose account the file names: whoever else logs in may have a calendar of the same name.
 */
export function calendarUses(file: YamlFile): CalendarUse[] {
  if ((file.valueAt(['clinic', 'tenantId']) ?? null) !== null) return [];
  const client = file.valueAt(['clinic', 'client']);
  return keysAt(file, ['targets']).flatMap((target) => {
    const of = (part: string) => file.valueAt(['targets', target, part]);
    const connection: unknown = file.valueAt(['connections', String(of('connection'))]);
    const [connector, settings, agendas] = [of('connector'), of('settings'), of('agendas')];
    if (of('crm') !== undefined || typeof connection !== 'object' || settings === undefined) return [];
    const isKnownAccount = ACCOUNT_PARTS.some((part) => Object.hasOwn(connection ?? {}, part));
    const shown = Array.isArray(agendas) ? agendas : agendas === 'all' && isKnownAccount ? ['all'] : [];
    return shown.map((agenda): CalendarUse => {
      const use = sortedJson([client, connector, connection, settings, agenda]);
      return [hash('sha256', use, 'base64url').slice(0, 22), target];
    });
  });
}
