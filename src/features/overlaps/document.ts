import type { Texts } from '../../documents/document.ts';
import { type Document, explainAddress, link, paragraph, toned } from '../../documents/document.ts';
import type { Language } from '../../messages/message.ts';
import { DAY_MS } from '../../model/time.ts';
import type { OverlapReport } from './overlaps.ts';

const en = {
  title: 'Overlaps',
  about: (days: number) => `Appointments of one agenda at the same time, in the next ${days} days.`,
  none: 'No appointments overlap.',
  partial: 'The clinic’s list was incomplete: more appointments may overlap.',
  agenda: 'Agenda',
  first: 'Appointment',
  second: 'Overlaps with',
  from: 'Both from',
  minutes: 'Minutes',
  more: (rows: number) => `${rows} more`,
};

const it: typeof en = {
  title: 'Sovrapposizioni',
  about: (days) => `Appuntamenti della stessa agenda nello stesso orario, nei prossimi ${days} giorni.`,
  none: 'Nessun appuntamento si sovrappone.',
  partial: 'L’elenco della clinica era incompleto: possono esserci altre sovrapposizioni.',
  agenda: 'Agenda',
  first: 'Appuntamento',
  second: 'Si sovrappone a',
  from: 'Entrambi dalle',
  minutes: 'Minuti',
  more: (rows) => `altre ${rows}`,
};

/** Words of the report in both languages. */
export const OVERLAPS: Texts<typeof en> = { en, it };

/** The report as an operator reads it. */
export function overlapsDocument({ tenant, ...report }: OverlapReport, language: Language): Document {
  const words = OVERLAPS[language];
  const appointment = (record: string) => link(explainAddress(tenant, record), record);
  const rows = report.overlaps.map(({ agenda, name, first, second, minutes }) => ({
    id: `overlap-${first.record}-${second.record}`,
    cells: [
      name ?? agenda,
      appointment(first.record),
      appointment(second.record),
      { is: 'time', at: second.startAt, hasAge: false } as const,
      minutes,
    ],
  }));
  return {
    title: words.title,
    blocks: [
      paragraph(words.about(Math.round((report.toAt - report.fromAt) / DAY_MS))),
      ...(report.isComplete ? [] : [paragraph(toned('wait', words.partial))]),
      rows.length === 0
        ? { is: 'empty', text: words.none }
        : {
            is: 'table',
            caption: words.title,
            headings: [words.agenda, words.first, words.second, words.from, words.minutes],
            rows,
            most: { page: 300, terminal: 50 },
            more: words.more,
          },
    ],
  };
}
