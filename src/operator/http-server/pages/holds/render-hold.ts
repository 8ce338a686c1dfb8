import { type Html, type HtmlPart, html } from '../../../../core/model/html.ts';
import { type Instant, localDate } from '../../../../core/model/time.ts';
import type { HoldView } from '../../../../features/holds/hold-view.ts';
import type { ListedHold, TenantHold } from '../../../../features/holds/holds.ts';
import { LOCALES } from '../../../../messages/message.ts';
import type { HeldItem } from '../../../control/target-objects.ts';
import { explainAddress, holdAddress } from '../../../documents/document.ts';
import { fieldChangeLines, HOLD_NAMES } from '../../../documents/names.ts';
import { mayDo } from '../../operators.ts';
import type { PageContext } from '../context.ts';
import {
  copyable,
  csrfField,
  emptyState,
  hiddenFields,
  inlineHtml,
  section,
  table,
  targetMark,
  unfolding,
} from '../parts.ts';
import { HOLD_REASONS, HOLDS } from '../texts/holds.ts';
import { renderUsual } from './render-usual.ts';

/** Maximum number of single check boxes. */
const MOST_CHOSEN_ALONE = 1_000;

/** Renders all holds of a clinic, open ones first. */
export function renderHolds(context: PageContext, holds: readonly ListedHold[]): Html {
  const { language, times } = context;
  const words = HOLDS[language];
  if (holds.length === 0) return emptyState(words.empty);
  const columns = [words.kind, words.target, words.items, words.usual, words.since, words.state];
  const rows = holds.map(({ id, tenant, kind, target, recordIds, usual, createdAt, state }) => ({
    id: `hold-${id}`,
    address: holdAddress(tenant, id),
    cells: [
      HOLD_NAMES[language][kind],
      targetMark(context, tenant, target),
      recordIds.length,
      usual?.range == null ? null : words.usualRange(usual.range.least, usual.range.most),
      times.both(createdAt),
      html`<span class="${state === 'open' ? 'act' : 'quiet'}">${words[state]}</span>`,
    ],
  }));
  return table(words.title, columns, rows);
}

/** Renders one hold: what is held and why, the decision for those with permission, the usual numbers, and the kept changes. */
export function renderHold(context: PageContext, view: HoldView): Html {
  const { hold, unread, requests, usual, items } = view;
  const words = HOLDS[context.language];
  const isOpen = hold.state === 'open';
  const mayDecide = isOpen && context.visitor !== null && mayDo(context.visitor, 'operator');
  const requestNotices = requests.map(
    ({ by, what }) => html`<p class="notice">${words.requested(by.name, String(what.items ?? ''))}</p>`,
  );
  const unreadLine = unread === null ? null : html`<p class="notice">${words.unread(unread)}</p>`;
  const chart = usual === null ? null : renderUsual(context, usual, items.length);
  const list = section('items', words.kind, renderItems(context, view, mayDecide));
  const content = html`${requestNotices}${unreadLine}${chart}${list}${factsOf(context, view)}`;
  return html`${heldSummary(context, view)}${mayDecide ? decisionForm(context, view, content) : content}`;
}

/** Agendas named in the first sentence. */
const NAMED_AGENDAS = 3;

/** Renders what is held, for whom, and the exceeded limit with its target. */
function heldSummary(context: PageContext, view: HoldView): Html {
  const { hold, items, isDivisible, calendar } = view;
  const { language, targetName } = context;
  const words = HOLDS[language];
  const { kind, state } = hold;
  const count = items.length;
  const name = targetName(hold.tenant, hold.target);
  const destination = calendar === null ? `“${name}”` : `“${calendar}”, ${name}`;
  const what =
    kind === 'corrections'
      ? words.messages(count)
      : (isDivisible ? words.removals : kind === 'manual-changes' ? words.restorations : words.changes)(
          count,
          destination,
        );
  const agendas = byAgenda(items).flatMap(({ agenda, items: ofAgenda }) =>
    agenda === null ? [] : [`${agenda.name ?? agenda.id} ${ofAgenda.length}`],
  );
  const others = agendas.length - NAMED_AGENDAS;
  const named = [...agendas.slice(0, NAMED_AGENDAS), ...(others > 0 ? [words.otherAgendas(others)] : [])];
  const lead = `${state === 'open' ? words.held(what, count) : what}${named.length === 0 ? '' : `: ${named.join(', ')}`}.`;
  return html`<div class="lead"><p><strong>${lead}</strong></p>${limitOf(context, hold)}<p class="quiet">${HOLD_REASONS[language][kind]}</p></div>`;
}

function limitOf(
  { language, targetName }: PageContext,
  { tenant, limit, kind, target: id, exceededIn }: TenantHold,
): Html | null {
  if (limit === null) return null;
  const words = HOLDS[language];
  const target = targetName(tenant, id);
  const exceeded = kind === 'corrections' ? null : targetName(tenant, exceededIn ?? id);
  const isElsewhere = exceeded !== null && (exceededIn ?? id) !== id;
  return html`<p>${words.limit(limit.count, Math.round(limit.share * 100), exceeded)}${isElsewhere ? ` ${words.elsewhere(exceeded, target)}` : null}</p>`;
}

function factsOf(context: PageContext, { hold }: HoldView): Html {
  const { language, times } = context;
  const words = HOLDS[language];
  const facts: [string, HtmlPart][] = [
    [words.kind, HOLD_NAMES[language][hold.kind]],
    [
      words.target,
      html`${targetMark(context, hold.tenant, hold.target)} ${hold.kind === 'corrections' ? words.linkedCorrections(hold.linkCount) : words.linked(hold.linkCount)}`,
    ],
    [words.since, times.both(hold.createdAt)],
  ];
  if (hold.state !== 'open') {
    const when = hold.decidedAt === null ? null : times.both(hold.decidedAt);
    facts.push([words.wasDecided, html`<strong>${words[hold.state]}</strong> ${when}`]);
  } else {
    facts.push([words.ends, times.at(hold.expiresAt)]);
    facts.push([
      words.command,
      copyable(context, `clinic-mirror holds approve ${hold.tenant} ${hold.id} --seen ${hold.seen}`),
    ]);
  }
  return html`<dl class="facts">${facts.map(([name, value]) => html`<dt>${name}</dt><dd>${value}</dd>`)}</dl>`;
}

/** The form encloses the whole content, so that its buttons stay in view. */
function decisionForm({ visitor, language }: PageContext, { hold, items, isDivisible }: HoldView, content: Html): Html {
  const words = HOLDS[language];
  const button = (choice: string, kind: string, text: string) =>
    html`<button class="button ${kind}" name="choice" value="${choice}">${text}</button>`;
  const count = items.length;
  const isOfMessages = hold.kind === 'corrections';
  const buttons = isDivisible
    ? [
        button('keep', 'main', words.keepAll(count)),
        button('selected', 'danger', words.removeSelected),
        button('all', 'danger', words.removeAll(count)),
      ]
    : [
        button('keep', 'main', isOfMessages ? words.correctNone : words.rejectOther(count)),
        button('all', 'danger', isOfMessages ? words.correctAll(count) : words.approveOther(count)),
      ];
  return html`<form method="post" action="${holdAddress(hold.tenant, hold.id)}" class="decided">${csrfField(visitor)}${hiddenFields({ step: 'show', seen: hold.seen })}<div class="buttons sticky" role="group" aria-label="${words.decision}">${buttons}</div>${content}</form>`;
}

function renderItems(context: PageContext, view: HoldView, mayDecide: boolean): Html {
  const { items, zone, isDivisible } = view;
  const words = HOLDS[context.language];
  const canChoose = mayDecide && isDivisible;
  const isTooMany = items.length > MOST_CHOSEN_ALONE;
  const agendas = byAgenda(items);
  const days = byDay(items, zone).map((day) => ({
    ...day,
    content: renderDay(context, view, day, { canChoose, isTooMany }),
  }));
  const first = agendas.length < 2 ? null : agendaTable(context, { agendas, canChoose });
  const folds = html`<div class="folds">${days.length > MOST_DAYS ? byMonth(context, days) : days.map(({ content }) => content)}</div>`;
  return html`${canChoose && isTooMany ? html`<p class="notice">${words.tooMany(MOST_CHOSEN_ALONE)}</p>` : null}${first}<h3>${words.byDay}</h3>${folds}`;
}

/** Agendas of the table that are not folded. */
const MOST_AGENDAS = 12;
/** Days that are listed singly. More days are folded into months. */
const MOST_DAYS = 14;

function agendaTable(
  context: PageContext,
  { agendas, canChoose }: { agendas: readonly HeldAgenda[]; canChoose: boolean },
): Html {
  const { language, times } = context;
  const words = HOLDS[language];
  const rows = agendas.map(({ agenda, items }) => {
    const name = agenda === null ? words.noAgenda : (agenda.name ?? agenda.id);
    const starts = items.flatMap(({ startAt }) => startAt ?? []);
    const label = html`${name}<span class="heard">: ${words.ofAgenda(items.length)}</span>`;
    return {
      id: `agenda-${agenda?.id ?? NONE}`,
      cells: [
        canChoose ? checkBox('agenda', agenda?.id ?? NONE, label) : name,
        items.length,
        starts.length === 0
          ? null
          : [...new Set([Math.min(...starts), Math.max(...starts)].map(times.day))].join(' – '),
      ],
    };
  });
  const part = (some: typeof rows) => table(words.byAgenda, [words.agenda, words.items, words.period], some);
  const rest = rows.slice(MOST_AGENDAS);
  const more =
    rest.length === 0
      ? null
      : html`<div class="folds">${unfolding('more-agendas', words.otherAgendas(rest.length), part(rest))}</div>`;
  return html`<h3>${words.byAgenda}</h3>${part(rows.slice(0, MOST_AGENDAS))}${more}`;
}

/** Folds days into their months. Records without a time follow. */
function byMonth({ language }: PageContext, days: readonly (HeldDay & { content: Html })[]): Html[] {
  const format = new Intl.DateTimeFormat(LOCALES[language], { month: 'long', year: 'numeric', timeZone: 'UTC' });
  const months = Map.groupBy(days, ({ date }) => date?.slice(0, 7) ?? null);
  return [...months].flatMap(([month, ofMonth]) => {
    const contents = ofMonth.map(({ content }) => content);
    if (month === null) return contents;
    const count = ofMonth.reduce((sum, { items }) => sum + items.length, 0);
    const name = format.format(Date.parse(`${month}-01`));
    return unfolding(
      `month-${month}`,
      html`${name} <span class="quiet">${count}</span>`,
      html`<div class="folds">${contents}</div>`,
    );
  });
}

function renderDay(
  context: PageContext,
  { hold }: HoldView,
  { date, startAt, items }: HeldDay,
  { canChoose, isTooMany }: { canChoose: boolean; isTooMany: boolean },
): Html {
  const words = HOLDS[context.language];
  const name = startAt === null ? words.noDay : context.times.day(startAt);
  const box = canChoose ? checkBox('day', date ?? NONE, words.ofDay(items.length)) : null;
  const lines = items.map((item) => {
    const line = itemLine(context, hold.tenant, item);
    const changes = fieldChangeLines(item.fieldChanges, context.language);
    const folded = { id: `fields-${item.record}`, summary: words.fields };
    const fields = changes && inlineHtml(context, { ...changes, folded });
    return html`<li>${canChoose && !isTooMany ? checkBox('item', item.record, line) : line}${fields}</li>`;
  });
  return unfolding(
    `day-${date ?? NONE}`,
    html`${name} <span class="quiet">${items.length}</span>`,
    html`<div>${box}<ul class="boxes">${lines}</ul></div>`,
  );
}

/** Renders one record: time, agenda and id, without content. */
export function itemLine({ times }: PageContext, tenant: string, { record, startAt, agenda, status }: HeldItem): Html {
  const details = [agenda?.name ?? agenda?.id ?? null, status].filter((each) => each !== null).join(', ');
  return html`<span>${startAt === null ? null : html`<strong>${times.clock(startAt)}</strong> `}<a href="${explainAddress(tenant, record)}">${record}</a> <span class="quiet">${details}</span></span>`;
}

function checkBox(name: string, value: string, text: HtmlPart): Html {
  return html`<label><input type="checkbox" name="${name}" value="${value}"> ${text}</label>`;
}

/** Records of one local day. `date` is null for records without a time. */
interface HeldDay {
  date: string | null;
  /** Start of the first record. */
  startAt: Instant | null;
  items: HeldItem[];
}

/** Records of one agenda. `agenda` is null if missing from the clinic's list. */
interface HeldAgenda {
  agenda: { id: string; name: string | null } | null;
  items: HeldItem[];
}

/** Form value for records without a day or without an agenda. */
const NONE = '-';

/** Groups records by local day, in order. */
function byDay(items: readonly HeldItem[], zone: string): HeldDay[] {
  const days = Map.groupBy(items, ({ startAt }) => dateOf(startAt, zone));
  return [...days].map(([date, ofDay]) => ({ date, startAt: ofDay[0]?.startAt ?? null, items: ofDay }));
}

/** Groups records by agenda, largest first. */
function byAgenda(items: readonly HeldItem[]): HeldAgenda[] {
  const agendas = Map.groupBy(items, ({ agenda }) => agenda?.id ?? null);
  return [...agendas.values()]
    .map((ofAgenda) => ({ agenda: ofAgenda[0]?.agenda ?? null, items: ofAgenda }))
    .toSorted((one, other) => other.items.length - one.items.length);
}

/** Returns a record's local date; null without a time. */
function dateOf(at: Instant | null, zone: string): string | null {
  return at === null ? null : localDate(zone, at);
}

/**
 * Returns the records selected in a form, singly (`item`), by day (`day`) or by agenda (`agenda`), each repeatable. Unknown values are
 * ignored.
 */
export function chosenIn(form: URLSearchParams, items: readonly HeldItem[], zone: string): HeldItem[] {
  const chosen = new Set(form.getAll('item'));
  const days = new Set(form.getAll('day'));
  const agendas = new Set(form.getAll('agenda'));
  return items.filter(
    ({ record, startAt, agenda }) =>
      chosen.has(record) || days.has(dateOf(startAt, zone) ?? NONE) || agendas.has(agenda?.id ?? NONE),
  );
}
