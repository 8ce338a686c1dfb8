import { type Html, type HtmlPart, html } from '../../../core/model/html.ts';
import { needsPerson, type Problem } from '../../../core/model/problems.ts';
import { type Instant, SECOND_MS } from '../../../core/model/time.ts';
import { type Language, message, render, type Text } from '../../../messages/message.ts';
import { byConfiguration } from '../../control/installation-problems.ts';
import type { InstallationPart, InstallationReadings } from '../../control/installation-readings.ts';
import { DURABILITY_UNSUPPORTED } from '../../control/status-view.ts';
import type { PageContext } from './context.ts';
import { copyable } from './parts.ts';
import { INSTALLATION } from './texts/installation.ts';

/** A part with facts on the page. */
export type ReadPart = InstallationPart | 'queues' | 'backups' | 'retention';

/** Facts of one part. */
export interface FactsOfPart {
  content: HtmlPart;
  asOf: Instant;
  /** False if no check judges the part: without a problem, the part then has no state. */
  isJudged: boolean;
  /** Findings of `doctor` that a status does not contain. */
  problems?: readonly Problem[];
}

/** Maximum number of listed dates per part. */
const MOST_DATES = 3;
const MEBIBYTE = 2 ** 20;

/** Renders the readings of each part. @param unchecked number of tenants that the process has not checked yet */
export function factsOf(
  context: PageContext,
  found: InstallationReadings,
  unchecked: number,
): Record<ReadPart, FactsOfPart> {
  const words = INSTALLATION[context.language];
  const { status, readAt } = found;
  const judged = (content: HtmlPart, asOf = status.at): FactsOfPart => ({ content, asOf, isJudged: true });
  const waiting = status.incidents.length > 0;
  const isConfigured = status.awaitsRestart.length + status.refused.length + status.unusable.length === 0;
  return {
    daemons: { ...judged(daemonFacts(context, found)), isJudged: status.daemons.length > 0 },
    configuration: judged(
      html`${isConfigured ? html`<p>${words.configurationWell}</p>` : null}${unchecked === 0 ? null : html`<p>${words.unchecked(String(unchecked))}</p>`}`,
    ),
    redis: judged(redisFacts(context, found), readAt),
    directory: directoryFacts(context, found),
    queues: queueFacts(context, found),
    servers: judged(waiting ? null : html`<p>${words.serversWell}</p>`),
    expiry: judged(expiryFacts(context, found)),
    budgets: judged(budgetFacts(context, found)),
    alerts: judged(status.alertFailures.length > 0 ? null : html`<p>${words.alertsWell}</p>`),
    backups: { content: backupFacts(context, found), asOf: readAt, isJudged: false },
    retention: { content: retentionFacts(context, found), asOf: readAt, isJudged: false },
    others: judged(null),
  };
}

function daemonFacts({ language, times }: PageContext, { status: { daemons } }: InstallationReadings): Html {
  const words = INSTALLATION[language];
  const groups = byConfiguration(daemons);
  const [newest] = groups;
  if (newest === undefined) return html`<p>${words.noDaemons}</p>`;
  if (groups.length === 1) return html`<p>${words.sameConfiguration(newest.names.join(', '))}</p>`;
  const lines = groups.map(
    ({ names, sinceAt }) => html`<p>${words.oneConfiguration(names.join(', '))} ${times.at(sinceAt)}.</p>`,
  );
  return html`${lines}`;
}

function redisFacts({ language }: PageContext, { redis, status }: InstallationReadings): Html {
  const words = INSTALLATION[language];
  const { refusal, answerMs, memory, clockAheadMs } = redis;
  const number = new Intl.NumberFormat(language, { maximumFractionDigits: 1 });
  const size = (bytes: number) => `${number.format(bytes / MEBIBYTE)} MiB`;
  const ms = number.format(answerMs);
  const used =
    memory === null
      ? null
      : memory.limitBytes === null
        ? words.memoryFree(size(memory.usedBytes))
        : words.memory(size(memory.usedBytes), size(memory.limitBytes));
  const { durability } = status.state;
  const sentences = [
    refusal === null ? words.answers(ms) : words.answersOnly(ms),
    used,
    words.clock(number.format(Math.abs(clockAheadMs) / SECOND_MS)),
    status.unkept === null ? words.kept : null,
    durability === 'durable' ? words.confirmed : null,
    durability === 'unsupported' ? asSentence(DURABILITY_UNSUPPORTED.sentence, language) : null,
  ];
  return html`${sentences.filter((each) => each !== null).map((each) => html`<p>${each}</p>`)}`;
}

function directoryFacts({ language }: PageContext, { status }: InstallationReadings): FactsOfPart {
  const facts = { asOf: status.at, isJudged: true };
  const { state } = status;
  if (state.directory === 'kept') {
    return { ...facts, content: html`<p>${asSentence(message('doctor.data-directory'), language)}</p>` };
  }
  if (state.directory === 'failed') return { ...facts, content: null };
  const subject = message('subject.state');
  const [sentence, next] = [message('no-data-directory'), message('no-data-directory.remedy')];
  const problem = needsPerson({ tenant: null, subject, code: 'no-data-directory', sentence, next });
  return { ...facts, content: null, problems: [problem] };
}

/** Failed jobs stay listed, so a count does not tell whether work fails now. */
function queueFacts({ language, times }: PageContext, { queues, readAt }: InstallationReadings): FactsOfPart {
  const words = INSTALLATION[language];
  const sum = (state: 'waiting' | 'active' | 'delayed' | 'failed') =>
    queues.reduce((total, { counts }) => total + counts[state], 0);
  const failed = sum('failed');
  const line = words.jobs(
    ...((['waiting', 'active', 'delayed', 'failed'] as const).map((each) => String(sum(each))) as [
      string,
      string,
      string,
      string,
    ]),
  );
  const ends = queues.flatMap((queue) => queue.failed.flatMap(({ endedAt }) => endedAt ?? []));
  const last = ends.length === 0 ? null : html` ${words.lastFailed} ${times.both(Math.max(...ends))}.`;
  const content = html`<p>${line}${last} <a href="/queues">${words.showQueues}</a></p>`;
  return { content, asOf: readAt, isJudged: failed === 0 };
}

function budgetFacts({ language }: PageContext, { status: { quotas } }: InstallationReadings): Html {
  const words = INSTALLATION[language];
  const [most] = quotas.toSorted((one, other) => other.hourShare - one.hourShare);
  if (most === undefined) return html`<p>${words.noBudgets}</p>`;
  return html`<p>${words.mostUsed(most.client, String(Math.floor(most.hourShare * 100)))}</p>`;
}

function expiryFacts({ language, times }: PageContext, { status }: InstallationReadings): Html {
  const words = INSTALLATION[language];
  const logins = status.tenants.flatMap(({ tenant, connections }) =>
    connections.flatMap(({ connection, state, isEndFixed, refreshExpiresAt: endsAt }) =>
      state === 'connected' && isEndFixed && endsAt !== null
        ? [{ of: words.connection(connection, tenant), endsAt }]
        : [],
    ),
  );
  const others = status.endings.map(({ kind, of, endsAt }) => ({ of: words[kind](of), endsAt }));
  const next = [...logins, ...others].sort((one, other) => one.endsAt - other.endsAt).slice(0, MOST_DATES);
  if (next.length === 0) return html`<p>${words.noExpiry}</p>`;
  const lines = next.map(
    ({ of, endsAt }) =>
      html`<p>${endsAt <= status.at ? words.expired(of) : words.expires(of)} ${times.both(endsAt)}</p>`,
  );
  return html`${lines}`;
}

function backupFacts(context: PageContext, { backups: { log, last } }: InstallationReadings): Html {
  const words = INSTALLATION[context.language];
  if (log !== 'read') return html`<p>${log === 'none' ? words.noAuditLog : words.logFailed}</p>`;
  if (last === null) {
    return html`<p>${words.noBackup} ${copyable(context, 'clinic-mirror backup --all all-tenants.backup')}</p>`;
  }
  return html`<p>${words.lastBackup} ${last.tenant} ${context.times.both(last.at)}</p>`;
}

function retentionFacts({ language, times }: PageContext, { status, checks }: InstallationReadings): Html {
  const words = INSTALLATION[language];
  const parts = status.tenants.flatMap(({ tenant, removed }) =>
    removed.map(({ name, releaseAt }) => ({ name: `${tenant} ${name}`, releaseAt })),
  );
  const next = [...status.removed, ...parts].sort((one, other) => one.releaseAt - other.releaseAt).slice(0, MOST_DATES);
  const lines = next.map(({ name, releaseAt }) => html`<p>${words.deletes(name)} ${times.both(releaseAt)}</p>`);
  const checked =
    checks === null
      ? html`<p>${words.noCheck}</p>`
      : html`<p>${words.lastCheck} ${times.both(checks.lastAt)}</p><p>${words.nextCheck} ${times.both(checks.nextAt)}</p>`;
  return html`${next.length === 0 ? html`<p>${words.nothingRemoved}</p>` : lines}${checked}`;
}

/** Returns a message as a sentence of its own: messages begin in lower case and end without a full stop. */
function asSentence(text: Text, language: Language): string {
  const said = render(text, language);
  return `${said.charAt(0).toUpperCase()}${said.slice(1)}.`;
}
