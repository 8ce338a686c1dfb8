import type { OpenTarget, OpenTenant } from '../jobs/tenant.ts';
import { type Finding, found } from './findings.ts';

/**
 * Asks the target for something that is not there, and which calendar its settings name.
 * @param settings the tenant's file
 */
export async function targetFinding(
  { id, targetStore }: Pick<OpenTenant, 'id' | 'targetStore'>,
  target: OpenTarget,
  settings: string,
  signal: AbortSignal,
): Promise<Finding> {
  const { container } = await targetStore.read(target.id);
  const location = `targets.${target.id}.settings in ${settings}`;
  let named: string | null = null;
  const ask = async (): Promise<void> => {
    if (container === null) {
      await target.connector.locate?.(signal);
      return;
    }
    named = await namedCalendar(target, signal);
    if (named === null || named === container)
      await target.connector.find(container, [target.identity.key('doctor', 0)], signal);
  };
  const well = container === null ? 'answers; nothing was written to it yet' : 'answers';
  const finding = await found({ tenant: id, subject: `target ${target.id}`, addressIn: location }, ask, well);
  if (finding.result !== 'ok' || named === null || named === container) return finding;
  return {
    ...{ ...finding, result: 'warning', code: 'calendar-changed' },
    what: `it writes to the calendar ${container} until its next cycle, and its settings name ${named}`,
    next: `to fill the new calendar, run: clinic-mirror sync ${id}; events in the other calendar stay there; to keep that calendar, correct ${location}`,
  };
}

/** The calendar that the settings name, as the state remembers calendars; null for a calendar made by clinic-mirror, and for a CRM. */
async function namedCalendar({ crm, connector }: OpenTarget, signal: AbortSignal): Promise<string | null> {
  // Without `locate` the settings name an existing calendar: `prepare` makes none.
  return crm === null && connector.locate === undefined ? await connector.prepare(null, signal) : null;
}
