import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../core/model/time.ts';
import type { Language } from '../../messages/message.ts';
import { type Installation, requireTenant } from '../../operator/control/installation.ts';
import type { Acting } from '../../operator/control/recording.ts';
import { type Document, paragraph, time } from '../../operator/documents/document.ts';
import { HISTORY_DAYS } from '../../state/history.ts';
import { DOCUMENT_RETENTION_MS } from '../../state/stored-documents.ts';
import { RELEASE_EVERY_MS } from '../../tenant/release.ts';
import { CHANNEL_LIFE_MS } from '../../tenant/subscriptions.ts';
import type { EndedKind } from '../../tenant/upkeep.ts';
import type { RetentionReport, StoredKind } from './schemas.ts';
import { RETENTION, STORED_KINDS } from './texts.ts';

/** Reads how each kind of data ends, and what the last checks deleted. @throws MirrorError as `requireTenant` */
export async function reportRetention(
  installation: Installation,
  { actServices }: Pick<Acting, 'actServices'>,
  tenantId: string,
): Promise<RetentionReport> {
  const { id, journal, reminders } = requireTenant(installation, tenantId);
  const { upkeep, removed } = installation;
  const [own, shared] = await Promise.all([upkeep.read(id), upkeep.read(null)]);
  const periodsMs: Partial<Record<StoredKind, number>> = {
    removed: removed.retentionMs,
    'audit-log': upkeep.auditLogMs(),
    approvals: actServices.approvalsOf(id).policy.expireAfterHours * HOUR_MS,
    ...(reminders && { replies: reminders.replies.lifeMs, reminders: reminders.file.keepDays * DAY_MS }),
    journals: journal.retentionMs,
    history: HISTORY_DAYS * DAY_MS,
    'saved-plans': DOCUMENT_RETENTION_MS,
    notifications: CHANNEL_LIFE_MS,
    'page-limits': 2 * MINUTE_MS,
  };
  const kinds = (Object.keys(STORED_KINDS) as StoredKind[]).map((kind) => {
    const ended = [own, shared].flatMap((records) => records[kind as EndedKind] ?? []);
    const last = ended.sort((one, other) => other.at - one.at)[0];
    const { ends } = STORED_KINDS[kind];
    const periodMs = periodsMs[kind] ?? null;
    return { kind, ends, periodMs, lastEndedAt: last?.at ?? null, lastEnded: last?.ended ?? null };
  });
  const lastCheckAt = shared.check?.at ?? null;
  return { tenant: id, lastCheckAt, nextCheckAt: lastCheckAt && lastCheckAt + RELEASE_EVERY_MS, kinds };
}

const UNITS = [['day', DAY_MS] as const, ['hour', HOUR_MS] as const, ['minute', MINUTE_MS] as const] as const;

/** Renders the report. */
export function retentionDocument({ lastCheckAt, nextCheckAt, kinds }: RetentionReport, language: Language): Document {
  const { title, about, noCheck, lastCheck, nextCheck, headings, ends: endings, more } = RETENTION[language];
  const lengthOf = (ms: number) => {
    const [unit, unitMs] = UNITS.find(([, each]) => ms % each === 0) ?? UNITS[2];
    return new Intl.NumberFormat(language, { style: 'unit', unit, unitDisplay: 'long' }).format(ms / unitMs);
  };
  const rows = kinds.map(({ kind, ends, periodMs, lastEndedAt, lastEnded }) => ({
    id: `data-${kind}`,
    cells: [STORED_KINDS[kind][language], periodMs && lengthOf(periodMs), endings[ends], time(lastEndedAt), lastEnded],
  }));
  const facts = [[lastCheck, time(lastCheckAt)] as const, [nextCheck, time(nextCheckAt)] as const];
  return {
    title,
    blocks: [
      paragraph(about),
      lastCheckAt === null ? paragraph(noCheck) : { is: 'facts', facts },
      { is: 'table', caption: title, headings, rows, most: { page: 100, terminal: 100 }, more },
    ],
  };
}
