import type { PlanLine, PlanLineView, PlanView, StoredPlan, TargetPlanView } from '../../core/model/plan-view.ts';
import { sentenceOfRemark } from '../../core/model/snapshots.ts';
import { policySentence } from '../../core/model/write-policy.ts';
import { type Language, render } from '../../messages/message.ts';
import {
  type Block,
  code,
  command,
  type Document,
  type DocumentTable,
  explainAddress,
  type Inline,
  joined,
  link,
  paragraph,
  time,
  timeAndAge,
  toned,
} from './document.ts';
import { fieldChangeLines, fieldNames, reasonWord } from './names.ts';
import { PLAN } from './texts/plan.ts';

/** Shows the changes of a plan with reasons, target by target. A stored plan also shows the command that applies the plan. */
export function planDocument(plan: PlanView | StoredPlan, language: Language): Document {
  const words = PLAN[language];
  const { tenant, asOf, snapshot, unconfirmed, remarks = [], skippedTargets } = plan;
  const { records, completeness, reason, unusable } = snapshot;
  const read = [
    words.clinicShows(records),
    completeness === 'partial' && words.partial(reason ?? completeness),
    unusable > 0 && words.unusable(unusable),
    unconfirmed > 0 && words.unconfirmed(unconfirmed),
    ...remarks.map((remark) => render(sentenceOfRemark(remark), language)),
    ...skippedTargets.map(({ target, code: why }) => words.left(target, why)),
  ];
  const stored: [string, Inline][] =
    'expiresAt' in plan
      ? [
          [words.id, code(plan.id)],
          [words.until, time(plan.expiresAt)],
          [words.command, command(`clinic-mirror apply ${tenant} ${plan.id}`)],
        ]
      : [];
  const facts = [[words.madeAt, [timeAndAge(asOf), '. ', joined(read, ' ')]] as const, ...stored];
  const isFolded = plan.targets.length > MOST_UNFOLDED;
  const targets = plan.targets.map((target) => targetSection(tenant, target, { language, isFolded }));
  const counts = countsTable(plan, language);
  return { title: words.titleOf(tenant), blocks: [{ is: 'facts', facts }, ...counts, ...targets] };
}

/** Targets that a page shows without folding. */
const MOST_UNFOLDED = 5;

/** Counts the changes of each target and agenda; empty for less than two rows. */
function countsTable({ targets }: PlanView, language: Language): DocumentTable[] {
  const words = PLAN[language];
  const rows = targets.flatMap(({ target, calendar, lines }) =>
    [...Map.groupBy(lines, ({ agenda }) => agenda ?? null)].map(([agenda, ofAgenda]) => {
      const count = (isCounted: (line: PlanLine) => boolean) => ofAgenda.filter(isCounted).length || null;
      const written = (operation: PlanLine['operation']) =>
        count((line) => line.decision === 'write' && line.operation === operation);
      return {
        id: `counts-${target}-${agenda ?? ''}`,
        cells: [
          calendar === null ? target : [calendar, toned('quiet', ` (${target})`)],
          agenda,
          ...[written('create'), written('update'), written('delete')],
          count(({ decision }) => decision === 'on-hold'),
          count(({ decision }) => decision === 'refused'),
        ],
      };
    }),
  );
  if (rows.length < 2) return [];
  return [
    {
      is: 'table',
      caption: words.counts,
      headings: [
        words.target,
        words.agenda,
        words.creates,
        words.updates,
        words.deletes,
        words.isHeld,
        words.isRefused,
      ],
      rows,
      most: { page: 100, terminal: 25 },
      more: words.more,
    },
  ];
}

function targetSection(
  tenant: string,
  target: TargetPlanView,
  { language, isFolded }: { language: Language; isFolded: boolean },
): Block {
  const words = PLAN[language];
  const { lines, unchanged, waiting, failing, released, writePolicy } = target;
  const count = (guardResult: PlanLine['decision'], operation?: PlanLine['operation']) =>
    lines.filter((line) => line.decision === guardResult && (operation === undefined || line.operation === operation))
      .length;
  const counts: [number, (n: number) => string][] = [
    [count('write', 'create'), words.create],
    [count('write', 'update'), words.update],
    [count('write', 'delete'), words.delete],
    [count('on-hold'), words.held],
    [count('refused'), words.refused],
    [waiting, words.waiting],
    [failing, words.failing],
    [released, words.released],
  ];
  const countTexts = counts.filter(([n]) => n > 0).map(([n, text]) => text(n));
  const summary =
    lines.length === 0 ? [words.nothing(unchanged), ...countTexts] : [...countTexts, words.unchanged(unchanged)];
  return {
    is: 'section',
    id: `target-${target.target}`,
    heading: target.target,
    sideText: target.calendar,
    ...(isFolded && { folded: summary.join(' · ') }),
    blocks: [
      paragraph(summary.join(' · ')),
      ...(writePolicy === undefined ? [] : [paragraph(render(policySentence(writePolicy), language))]),
      ...existingContacts(target, language),
      ...nextCommands(tenant, target, language),
      ...(lines.length === 0 ? [] : [linesTable(tenant, target, language)]),
    ],
  };
}

function existingContacts({ existing }: TargetPlanView, language: Language): Block[] {
  const words = PLAN[language];
  if (existing === null) return [];
  if ('unread' in existing) return [paragraph(words.contactsUnread(existing.unread))];
  return existing.contacts === 0 ? [] : [paragraph(words.contacts(existing.contacts, existing.alike))];
}

function nextCommands(
  tenant: string,
  { target, existing, failing, lines }: TargetPlanView,
  language: Language,
): Block[] {
  const words = PLAN[language];
  const isAlike = existing !== null && 'alike' in existing && existing.alike > 0;
  const commands: [boolean, string, string][] = [
    [isAlike, words.twice, `clinic-mirror match ${tenant} ${target}`],
    [failing > 0, words.seeFailing, `clinic-mirror health ${tenant} ${target}`],
    [lines.some(isHeldRestoration), words.seeRestorations, `clinic-mirror holds list ${tenant}`],
    [
      lines.some((line) => line.decision === 'on-hold' && !isHeldRestoration(line)),
      words.seeHeld,
      `clinic-mirror holds list ${tenant}`,
    ],
  ];
  return commands.filter(([isShown]) => isShown).map(([, why, text]) => paragraph(why, ' ', command(text)));
}

function isHeldRestoration({ decision, reason, operation }: PlanLine): boolean {
  return decision === 'on-hold' && reason === 'removed-by-hand' && operation !== 'delete';
}

function linesTable(tenant: string, { target, lines }: TargetPlanView, language: Language): DocumentTable {
  const words = PLAN[language];
  const operations = { create: `+ ${words.creates}`, update: `~ ${words.updates}`, delete: `− ${words.deletes}` };
  const guardTexts = { write: words.isWritten, 'on-hold': words.isHeld, refused: words.isRefused };
  const rows = lines.map((line) => ({
    id: `line-${target}-${line.record}`,
    group: [operations[line.operation], line.agenda].filter((each) => each != null).join(' · '),
    cells: [
      operations[line.operation],
      link(explainAddress(tenant, line.record), line.record),
      time(line.startAt),
      line.title,
      [whyOf(line, language), fieldsOf(target, line, language)],
      toned(line.decision === 'write' ? 'quiet' : 'hold', guardTexts[line.decision]),
    ],
  }));
  return {
    is: 'table',
    caption: `${words.title}: ${target}`,
    headings: [words.what, words.record, words.starts, words.name, words.why, words.verdict],
    rows,
    most: { page: 1_000, terminal: 25 },
    more: words.more,
  };
}

function whyOf({ reason, fields }: PlanLineView, language: Language): string {
  const named = fields.length === 0 ? [] : [fieldNames(fields, language)];
  return [reasonWord(reason, language), ...named].join(': ');
}

/** Updates show fields at once. Created and deleted objects look alike, so their fields appear on request. */
function fieldsOf(target: string, { record, operation, fieldChanges }: PlanLineView, language: Language): Inline {
  const isUpdate = operation === 'update';
  const lines = fieldChangeLines(fieldChanges, language, { isUpdate });
  if (isUpdate || lines === null) return lines;
  return { ...lines, folded: { id: `fields-${target}-${record}`, summary: PLAN[language].fields } };
}
