import { createHash } from 'node:crypto';
import { type Installation, requireTenant } from '../../operator/control/installation.ts';
import { type ActAbout, type Acting, recordAct } from '../../operator/control/recording.ts';
import type { HoldChoice } from '../../state/holds.ts';
import * as holds from './holds.ts';

/**
 * Decides a hold as seen by the user, complete or in part. A hold that changed meanwhile is not decided.
 * @see holds.decideHold
 */
export async function decideHold(
  acting: Acting,
  installation: Installation,
  { tenant: tenantId, hold: holdId, decision }: holds.HoldDecision,
  { seen = null, only = null }: HoldChoice = {},
): ReturnType<typeof holds.decideHold> {
  const tenant = requireTenant(installation, tenantId);
  const all = await tenant.holds.list();
  const hold = all.find(({ id }) => id === holdId);
  const recordIds = hold?.recordIds ?? [];
  const chosen = recordIds.filter((recordId) => only?.has(recordId) ?? true);
  const isPart = chosen.length < recordIds.length;
  const about: ActAbout = {
    verb: decision === 'approved' ? 'approve' : 'reject',
    tenant: tenant.id,
    what: {
      ...{ hold: hold?.id ?? null, target: hold?.target ?? null, kind: hold?.kind ?? null, items: chosen.length },
      ...(isPart ? { of: recordIds.length } : {}),
    },
  };
  if (hold !== undefined && hold.state === 'open' && decision === 'approved') {
    const subject = digestOf([hold.id, ...chosen.toSorted()].join('\n'));
    // Parts together require approval as a complete hold does.
    const before = all.filter(({ partOf, state }) => partOf === hold.id && state === 'approved');
    const count = before.reduce((sum, part) => sum + part.recordIds.length, chosen.length);
    about.second = { subject, isNeeded: ({ holdsAbove }) => holdsAbove !== undefined && count > holdsAbove };
  }
  const choice = { seen: seen ?? (hold === undefined ? null : holds.shownHold(hold, tenant).seen), only };
  return recordAct(acting, about, () =>
    holds.decideHold(installation, { tenant: tenantId, hold: holdId, decision }, choice),
  );
}

function digestOf(text: string): string {
  return createHash('sha256').update(text).digest('base64url');
}
