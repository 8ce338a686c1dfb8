import type { FastifyInstance } from 'fastify';
import { type Html, type HtmlPart, html } from '../../../../core/model/html.ts';
import { pathSegment } from '../../../../core/model/path-segment.ts';
import { policySentence } from '../../../../core/model/write-policy.ts';
import { type Message, message } from '../../../../messages/message.ts';
import { requireTenant } from '../../../control/installation.ts';
import { type RecordLine, type RecordList, type RecordState, stateOfRecord } from '../../../control/record-schemas.ts';
import { listRecords } from '../../../control/records.ts';
import type { ConnectionStatus, TargetStatus, TenantStatus } from '../../../control/status-schemas.ts';
import { effectOfPolicy, storageText } from '../../../control/status-view.ts';
import { type TargetNames, targetNamesOf } from '../../../control/target-names.ts';
import { clinicAddress, explainAddress, type Texts } from '../../../documents/document.ts';
import { mayDo, type OperatorServices } from '../../operators.ts';
import { contextOf, type PageContext } from '../context.ts';
import { type Page, sendPage } from '../layout.ts';
import {
  copyable,
  emptyState,
  healthMark,
  linkButton,
  pager,
  said,
  section,
  syncMark,
  table,
  targetMark,
  unfolding,
} from '../parts.ts';
import { CLINIC } from '../texts/clinic.ts';
import { FRAME } from '../texts/frame.ts';
import { accountName, connectionAddress } from './connection.ts';

const LIMIT = 50;
interface Question {
  Params: { tenant: string; target: string };
  Querystring: { state?: string; after?: string };
}

/** Adds a target's page: records that are in sync, pending, failed, on hold or excluded, with reasons. */
export function addTargetPage(app: FastifyInstance, services: OperatorServices): void {
  const config = { level: 'viewer' } as const;
  app.get<Question>('/tenants/:tenant/targets/:target', { config }, async (request, reply) => {
    const { tenant, target } = request.params;
    const { installation } = services;
    const state =
      stateOfRecord.options.find((each) => each === request.query.state) ??
      (await firstState(services, tenant, target));
    const after = typeof request.query.after === 'string' ? request.query.after : null;
    const list = await listRecords(installation, { tenant, target, state }, { after, limit: LIMIT });
    const opened = requireTenant(installation, tenant);
    const { targets, targetStore } = opened;
    const record = await targetStore.read(target);
    const open = targets.get(target);
    const isCalendar = open?.crm === null;
    const { writePolicy } = open === undefined ? {} : effectOfPolicy(open, record);
    const remarks = [
      ...(record.readBack?.marks === 'dropped' ? [message('marks-dropped')] : []),
      ...(writePolicy === undefined ? [] : [policySentence(writePolicy)]),
    ];
    const context = contextOf(request, services, tenant);
    const [clinic] = (await services.statuses.ofTenant(installation, tenant)).tenants;
    const status = clinic?.targets.find((each) => each.target === target);
    const facts =
      clinic === undefined || status === undefined ? null : targetFacts(context, clinic, status, targetNamesOf(opened));
    return sendPage(reply, context, targetPage(context, tenant, list, { isCalendar, remarks, facts }));
  });
}

/** Returns the most urgent non-empty state, or in sync. */
async function firstState({ installation }: OperatorServices, tenant: string, target: string): Promise<RecordState> {
  const { outbox } = requireTenant(installation, tenant);
  return (await outbox.counts(target)).failing > 0 ? 'failed' : 'in-sync';
}

function targetPage(
  context: PageContext,
  tenant: string,
  list: RecordList,
  { isCalendar, remarks, facts }: { isCalendar: boolean; remarks: readonly Message[]; facts: Html | null },
): Page {
  const words = RECORDS[context.language];
  const { target, state, items, next } = list;
  const own = targetAddress(tenant, target);
  const states = stateOfRecord.options.map((each) => {
    const isHere = each === state ? html` aria-current="page"` : null;
    return html`<li><a class="tab" href="${own}?state=${each}"${isHere}>${words[each]}</a></li>`;
  });
  const tabs = html`<nav class="tabs" aria-label="${words.states}"><ul>${states}</ul></nav>`;
  const further = next === null ? null : `${own}?${new URLSearchParams({ state, after: next })}`;
  const records =
    items.length === 0
      ? list.counts === null && emptyState(words.none)
      : html`<div>${recordTable(context, tenant, state, items)}${pager(context, further)}</div>`;
  const command = html`<p class="quiet">${FRAME[context.language].sameCommand} ${copyable(context, `clinic-mirror health ${tenant} ${target}`)}</p>`;
  const remarkParts = remarks.map((remark) => html`<p class="quiet">${said(context, remark)}</p>`);
  return {
    title: context.targetName(tenant, target),
    main: html`${facts}${remarkParts}${tabs}${excludedRecords(context, list)}${records}${command}`,
    headerPart: isCalendar ? linkButton(`${own}/week`, words.week) : null,
    isLive: true,
  };
}

function excludedRecords({ language, times }: PageContext, { counts, asOf, items }: RecordList): Html | null {
  if (counts === null) return null;
  const words = RECORDS[language];
  const only = items.length === 0 ? html` <span class="quiet">${words.countsOnly}</span>` : null;
  return html`<p>${words.left} ${asOf === null ? '–' : times.at(asOf)}: ${byCode(counts)}${only}</p>`;
}

function recordTable(context: PageContext, tenant: string, state: RecordState, items: readonly RecordLine[]): Html {
  const words = RECORDS[context.language];
  const withoutTime = state === 'pending' || state === 'failed' ? words.due : null;
  const { times } = context;
  const columns = [words.record, words.starts, words.why, words.about, words.since, words.nextTry];
  const rows = items.map(({ record, startAt, code, about, sinceAt, nextTryAt }) => ({
    id: `record-${record}`,
    address: explainAddress(tenant, record),
    cells: [
      html`<code>${record}</code>`,
      startAt && times.at(startAt),
      code === null ? null : html`<code>${code}</code>`,
      about,
      sinceAt && times.both(sinceAt),
      nextTryAt === null ? withoutTime : times.both(nextTryAt),
    ],
  }));
  return table(words[state], columns, rows);
}

const en = {
  'in-sync': 'in sync',
  pending: 'pending',
  failed: 'failed',
  'on-hold': 'on hold',
  excluded: 'excluded',
  'changed-by-hand': 'changed by hand',
  states: 'Status',
  record: 'Record',
  why: 'Reason',
  about: 'About',
  starts: 'Starts',
  since: 'Since',
  nextTry: 'Next try',
  due: 'due now',
  week: 'Week',
  none: 'No records.',
  left: 'Excluded by the rules of the target, as of',
  countsOnly: 'For calendars, clinic-mirror stores only the number of excluded appointments.',
};

/** Texts for a target's records. */
const RECORDS: Texts<typeof en> = {
  en,
  it: {
    'in-sync': 'sincronizzati',
    pending: 'in coda',
    failed: 'non riusciti',
    'on-hold': 'da confermare',
    excluded: 'esclusi',
    'changed-by-hand': 'modificati a mano',
    states: 'Stato',
    record: 'Record',
    why: 'Motivo',
    about: 'Riguarda',
    starts: 'Inizia',
    since: 'Da',
    nextTry: 'Prossimo tentativo',
    due: 'appena possibile',
    week: 'Settimana',
    none: 'Nessun record.',
    left: 'Esclusi dalle regole della destinazione, alle',
    countsOnly: 'Per i calendari clinic-mirror conserva solo il numero degli appuntamenti esclusi.',
  },
};

/** Renders the states of a clinic's records by target, and the invalid source records. Only ids and codes. */
export function recordsPart(context: PageContext, { tenant, targets, lastRun, storage }: TenantStatus): Html | null {
  if (targets.length === 0) return null;
  const words = CLINIC[context.language];
  const columns = [words.target, words.recordsOf, words.pending, words.failing, words.held, words.excluded];
  const rows = targets.map(({ target, links, firstSync, pending, failing, held }) => {
    const run = lastRun?.targets.find((each) => each.target === target);
    return {
      id: `records-${target}`,
      address: targetAddress(tenant, target),
      cells: [
        targetMark(context, tenant, target),
        firstSync?.written ?? Math.max(0, links - pending),
        pending,
        failing,
        held,
        byCode(run?.omitted ?? {}),
      ],
    };
  });
  return section(
    'records',
    words.records,
    html`<div class="folds">${unfolding('records-by-target', words.byTarget, table(words.records, columns, rows))}</div><p class="quiet">${said(context, storageText(storage))}</p>${invalidRows(context, lastRun)}`,
  );
}

function invalidRows({ language }: PageContext, lastRun: TenantStatus['lastRun']): Html | null {
  if (lastRun === null || Object.keys(lastRun.unusable).length === 0) return null;
  const words = CLINIC[language];
  const rows = lastRun.unusableExamples.map(({ recordId, code, field }) => ({
    cells: [html`<code>${recordId ?? '–'}</code>`, html`<code>${code}</code>`, html`<code>${field}</code>`],
  }));
  const columns = [words.record, words.why, words.field];
  return html`<div class="stack aside"><h3>${words.unusable}</h3><p>${words.setAsideText} ${byCode(lastRun.unusable)}</p>${rows.length === 0 ? null : table(words.unusable, columns, rows)}</div>`;
}

/** Renders counts by code. */
function byCode(counts: Readonly<Record<string, number>>): Html[] {
  return Object.entries(counts)
    .filter(([, count]) => count > 0)
    .map(([code, count], at) => html`${at === 0 ? '' : ', '}${count} <code>${code}</code>`);
}

/** Renders a clinic's targets, one line each: doctor, calendar, state, last check, waiting changes and last change. */
export function targetsPart(
  context: PageContext,
  { tenant, targets, connections }: Pick<TenantStatus, 'tenant' | 'targets' | 'connections'>,
  names: ReadonlyMap<string, TargetNames>,
): Html {
  const words = CLINIC[context.language];
  const { both } = context.times;
  if (targets.length === 0) return section('targets', words.targets, emptyState(words.noTargets));
  const columns = [words.doctor, words.calendar, words.syncStatus, words.checked, words.waiting, words.lastChange];
  const rows = targets.map((each) => {
    const { target, checkedAt, pending, held, lastWrittenAt } = each;
    return {
      ...{ id: target, address: targetAddress(tenant, target) },
      cells: [
        html`<span title="${target}">${names.get(target)?.doctors ?? target}</span>`,
        calendarText(each, connections, names),
        stateOf(context, each),
        checkedAt === null ? words.neverChecked : both(checkedAt),
        pending + held,
        lastWrittenAt === null ? words.noChange : both(lastWrittenAt),
      ],
    };
  });
  const history = linkButton(clinicAddress(tenant, '/history'), words.history, 'plain');
  return section('targets', words.targets, table(words.targets, columns, rows, { isDense: true }), history);
}

/** Names where a target writes: calendar, vendor and account, as far as known. */
function calendarText(
  { target, connector, connection }: TargetStatus,
  connections: readonly ConnectionStatus[],
  names: ReadonlyMap<string, TargetNames>,
): Html {
  const { calendar = null, vendor = connector } = names.get(target) ?? {};
  const account = accountName(connections.find((each) => each.connection === connection)?.account ?? null);
  const [first, ...others] = [calendar, account, vendor].filter((each) => each !== null);
  return html`${first}${others.length === 0 ? null : html` <span class="quiet">${others.join(' · ')}</span>`}`;
}

/** Renders the sync state, and the health and failed changes if an administrator should see them. */
function stateOf(context: PageContext, status: TargetStatus): Html {
  const { health, inSyncAsOf, exceptGapsAsOf, failing } = status;
  const words = CLINIC[context.language];
  const except =
    exceptGapsAsOf === null
      ? null
      : html` <span class="quiet">${words.exceptGaps(context.times.text(exceptGapsAsOf))}</span>`;
  const failed = failing === 0 ? null : html` <span class="act">${words.failedCount(failing)}</span>`;
  return html`${syncMark(context, status, inSyncAsOf)}${health === 'ok' ? null : html` ${healthMark(context, health)}`}${failed}${except}`;
}

/** Renders the facts of one target, with its id. */
function targetFacts(
  context: PageContext,
  { tenant, connections }: Pick<TenantStatus, 'tenant' | 'connections'>,
  status: TargetStatus,
  names: ReadonlyMap<string, TargetNames>,
): Html {
  const words = CLINIC[context.language];
  const { both } = context.times;
  const { target, connection, health, checkedAt, lastWrittenAt, links, pending, held, failing } = status;
  const mayConnect = context.visitor !== null && mayDo(context.visitor, 'operator');
  const facts: [string, HtmlPart][] = [
    [words.id, html`<code>${target}</code>`],
    [words.calendar, calendarText(status, connections, names)],
    [
      words.connection,
      mayConnect ? html`<a href="${connectionAddress(tenant, connection)}">${connection}</a>` : connection,
    ],
    [words.syncStatus, stateOf(context, status)],
    [words.able, healthMark(context, health)],
    [words.checked, checkedAt === null ? words.neverChecked : both(checkedAt)],
    [words.lastChange, lastWrittenAt === null ? words.noChange : both(lastWrittenAt)],
    [words.links, links],
    [words.pending, pending],
    [words.held, held],
    [words.failing, failing],
  ];
  return html`<dl class="facts">${facts.map(([name, value]) => html`<dt>${name}</dt><dd>${value}</dd>`)}</dl>`;
}

/** Returns the URL of a target's page. */
function targetAddress(tenant: string, target: string): string {
  return clinicAddress(tenant, `/targets/${pathSegment(target)}`);
}
