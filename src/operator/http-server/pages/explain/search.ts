import { type Html, html } from '../../../../core/model/html.ts';
import type { Agenda } from '../../../../core/model/records.ts';
import {
  type AppointmentQuestion,
  FOUND_STATES,
  type FoundAppointments,
  type FoundState,
} from '../../../control/find-appointments.ts';
import { clinicAddress, explainAddress } from '../../../documents/document.ts';
import type { PageContext } from '../context.ts';
import { emptyState, failureNotice, section, table, targetMark } from '../parts.ts';
import { SEARCH } from '../texts/search.ts';

/** Values of the search form, as in the query of the URL. */
export interface SearchQuery {
  id?: string;
  date?: string;
  time?: string;
  doctor?: string;
  state?: string;
}

/** Returns the search of a query without an id; null if every field is empty. Repeated fields and unknown states select nothing. */
export function questionOf({ date, time, doctor, state }: SearchQuery): AppointmentQuestion | null {
  const wanted = {
    ...{ date: textOf(date), time: textOf(time), doctor: textOf(doctor) },
    state: FOUND_STATES.find((each) => each === state) ?? null,
  };
  return Object.values(wanted).every((value) => value === null) ? null : wanted;
}

function textOf(value: unknown): string | null {
  return typeof value === 'string' && value.trim() !== '' ? value.trim() : null;
}

/** Renders the search form with its present values. @param agendas as last read */
export function searchForm(
  { language }: PageContext,
  tenant: string,
  query: SearchQuery,
  agendas: readonly Agenda[],
): Html {
  const words = SEARCH[language];
  const doctors = agendas.filter(({ isActive, id }) => isActive || id === query.doctor);
  const options = (some: readonly (readonly [value: string, text: string])[], chosen: string | undefined) =>
    html`<option value="">${words.any}</option>${some.map(([value, text]) => html`<option value="${value}"${value === chosen ? html` selected` : null}>${text}</option>`)}`;
  return html`<form class="stack" role="search" action="${clinicAddress(tenant, '/explain')}"><div class="finder"><label>${words.date} <input type="date" name="date" value="${textOf(query.date) ?? ''}"></label><label>${words.time} <input type="time" name="time" value="${textOf(query.time) ?? ''}"></label><label>${words.doctor} <select name="doctor">${options(
    doctors.map(({ id, name }) => [id, name || id]),
    query.doctor,
  )}</select></label><label>${words.state} <select name="state">${options(
    FOUND_STATES.map((state) => [state, words[state]]),
    query.state,
  )}</select></label><label>${words.id} <input type="search" name="id" value="${textOf(query.id) ?? ''}" maxlength="200"></label><button class="button main">${words.find}</button></div><p class="quiet">${words.hint}</p></form>`;
}

const TONES: Readonly<Record<FoundState, string>> = {
  'on-hold': 'hold',
  failing: 'act',
  waiting: 'wait',
  'changed-by-hand': 'wait',
  'in-calendar': 'ok',
  excluded: 'quiet',
};

/** Renders the found appointments: time, doctor, state and id, without content. */
export function renderFound(context: PageContext, tenant: string, { items, more, failure }: FoundAppointments): Html {
  const words = SEARCH[context.language];
  const refused = failure === null ? null : failureNotice(context, words.notRead, failure);
  const columns = [words.starts, words.doctor, words.state, words.targets, words.record];
  const rows = items.map(({ record, startAt, doctor, state, targets }) => ({
    id: `record-${record}`,
    address: explainAddress(tenant, record),
    cells: [
      startAt === 0 ? words.any : context.times.at(startAt),
      doctor,
      html`<span class="${TONES[state]}">${words[state]}</span>`,
      targets.length === 0
        ? null
        : html`${targets.map((target, at) => html`${at === 0 ? null : ', '}${targetMark(context, tenant, target)}`)}`,
      html`<code>${record}</code>`,
    ],
  }));
  const count = words.found(items.length + more);
  const list = rows.length === 0 ? emptyState(words.none) : table(count, columns, rows);
  const rest = more === 0 ? null : html`<p class="more quiet">${words.more(more)}</p>`;
  return html`${refused}${section('found', count, html`${list}${rest}`)}`;
}
