import type { Language } from '../../messages/message.ts';
import type { TargetChange, TargetChangesView } from '../control/history-schemas.ts';
import {
  type Block,
  code,
  type Document,
  explainAddress,
  type Inline,
  link,
  paragraph,
  type Span,
  time,
} from './document.ts';
import { reasonWord } from './names.ts';
import { CHANGES } from './texts/changes.ts';

/** Shows what changed in a target on one day: counts, and each changed or deleted object with its time before and after. */
export function changesDocument(view: TargetChangesView, language: Language): Document {
  const words = CHANGES[language];
  const { target, name, date, created, updated, deleted, changes, isCut, journalSince, endAt } = view;
  return {
    title: words.title(name ?? target, date),
    blocks: [
      paragraph(words.counts(created, updated, deleted)),
      paragraph(words.about, ' ', words.reach, ' ', time(journalSince), '.'),
      ...(changes.length === 0
        ? [{ is: 'empty', text: endAt <= journalSince ? words.tooOld : words.nothing } as const]
        : [changesTable(view, language)]),
      ...(isCut ? [paragraph(words.cut)] : []),
    ],
  };
}

function changesTable({ tenant, changes }: TargetChangesView, language: Language): Block {
  const words = CHANGES[language];
  const rows = changes.map((change) => ({
    id: `change-${change.run}-${change.record}`,
    cells: [
      time(change.changedAt),
      link(explainAddress(tenant, change.record), code(change.record)),
      [words[change.effect], timesOf(change, language)] as Inline,
      reasonWord(change.reason, language),
    ],
  }));
  return {
    ...{ is: 'table', caption: words.headings[2] ?? '', headings: words.headings, rows },
    most: { page: 200, terminal: 50 },
    more: (count) => words.more(count),
  };
}

/** Returns the times before and after; null if neither is recorded. */
function timesOf({ before, after }: TargetChange, language: Language): Span | null {
  const words = CHANGES[language];
  const rangeOf = (span: { startAt: number; endAt: number }): Span => ({ is: 'range', ...span });
  const isSame = before !== null && before.startAt === after?.startAt && before.endAt === after.endAt;
  const lines: Inline[] = isSame
    ? [[words.same, rangeOf(before)]]
    : [before && [words.before, rangeOf(before)], after && [words.after, rangeOf(after)]];
  const shown = lines.filter((line) => line !== null);
  return shown.length === 0 ? null : { is: 'lines', lines: shown, folded: null };
}
