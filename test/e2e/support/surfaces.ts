// biome-ignore lint/correctness/noUnresolvedImports: the package names its files by a pattern, which the linter does not read
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
// biome-ignore lint/correctness/noUnresolvedImports: the package names its files by a pattern, which the linter does not read
import { InMemoryTransport } from '@modelcontextprotocol/sdk/inMemory.js';
import type { FastifyInstance } from 'fastify';
import { onTestFinished } from 'vitest';
import { silentLogger } from '../../../src/core/log/logger.ts';
import { html } from '../../../src/core/model/html.ts';
import type { Problem } from '../../../src/core/model/problems.ts';
import { DAY_MS, MINUTE_MS, SECOND_MS } from '../../../src/core/model/time.ts';
import { openAccess } from '../../../src/daemon/access.ts';
import type { Composition } from '../../../src/daemon/compose.ts';
import { openOperatorServices } from '../../../src/daemon/operator-services.ts';
import { NOTHING_REPORTED, nextDigest } from '../../../src/features/alerts/digest.ts';
import { payloadOf, textOf } from '../../../src/features/alerts/texts.ts';
import { renderStatus } from '../../../src/operator/cli/render-status.ts';
import type { Metrics } from '../../../src/operator/control/metrics.ts';
import { status } from '../../../src/operator/control/status.ts';
import type { Statuses } from '../../../src/operator/control/statuses.ts';
import { addAccess } from '../../../src/operator/http-server/access/access.ts';
import { addApi } from '../../../src/operator/http-server/api/api.ts';
import { openApp, PAGES_POLICY } from '../../../src/operator/http-server/app.ts';
import { createOperatorServer } from '../../../src/operator/http-server/operator-server.ts';
import type { Visitor } from '../../../src/operator/http-server/operators.ts';
import { addPages } from '../../../src/operator/http-server/pages/pages.ts';
import { createMcpServer } from '../../../src/operator/mcp-server/server.ts';
import { contextWith } from '../../operator/operations/run-operation.ts';

/** The surfaces for operators, each with its text about one problem. */
export const SURFACES = ['status', 'status --json', 'readiness', 'metrics', 'alert', 'Overview', 'API', 'MCP'] as const;

export interface Surfaces extends Skins {
  composition: Composition;
  metrics: Metrics;
  ahead: { ms: number };
}

/** What an owner and an assistant use. */
export interface Skins {
  /** Pages and API. */
  app: FastifyInstance;
  assistant: Client;
}

const OWNER: Visitor = { id: 'owner', name: 'owner', level: 'owner', tenants: null, csrf: '' };

export async function openSkins(composition: Composition, statuses: Statuses): Promise<Skins> {
  const app = await openApp({ log: silentLogger, policy: PAGES_POLICY });
  const visitorOf = async () => OWNER;
  addAccess(app, {
    ...{ visitorOf, stillVisitorOf: visitorOf, heldBackMs: async () => null, publicUrl: () => 'http://localhost' },
  });
  const desk = openOperatorServices(composition, statuses, null, openAccess(composition));
  addApi(app, desk);
  addPages(app, desk);
  await app.ready();
  const [ours, theirs] = InMemoryTransport.createLinkedPair();
  await createMcpServer(contextWith({ installation: composition.installation }), '0.1.0').connect(ours);
  const assistant = new Client({ name: 'test', version: '1' });
  await assistant.connect(theirs);
  onTestFinished(() => app.close());
  return { app, assistant };
}

/** Whether a row of the Overview shows the problem: its sentence, and a button or the text of the next action. */
function isOnPage(page: string, { sentence, code, next }: Problem): boolean {
  return page.split('<tr').some((row) => {
    const read = row.replaceAll(/<[^>]+>/g, ' ').replaceAll(/\s+/g, ' ');
    const tells = (text: string) => read.includes(html`${text}`.toString().replaceAll(/\s+/g, ' '));
    return tells(sentence) && tells(code) && (next === null || tells(next) || row.includes('class="button main"'));
  });
}

/** Answers as the operator port of a process that can work does, with computed figures. */
export function operatorPort(metrics: Metrics) {
  return async (path: string) => {
    const app = await createOperatorServer(
      { readiness: async () => [], problems: metrics.problems, metrics: metrics.render },
      { token: null, log: silentLogger },
    );
    const { statusCode: status, body } = await app.inject(path);
    await app.close();
    return { status, body };
  };
}

/**
 * Returns the surfaces that show the problem with its sentence, its code and its next action. The processes around them are not started.
 */
export async function shownOn(
  { composition, metrics, ahead, app: port, assistant }: Surfaces,
  problem: Problem,
): Promise<string[]> {
  const { installation } = composition;
  // Expires the values computed for the previous query.
  ahead.ms += 6 * SECOND_MS;
  const view = await status(installation);
  const operator = operatorPort(metrics);
  const ready = JSON.parse((await operator('/readyz')).body) as { problems: Problem[] };
  const samples = (await operator('/metrics')).body;
  const page = (await port.inject('/')).body;
  const listed = (await port.inject('/api/v1/problems')).json() as { problems: Problem[] };
  const told = await assistant.callTool({ name: 'problems', arguments: {} });
  const { tenant, health, code, sentence, next } = problem;
  const says = (text: string) => [sentence, code, next ?? ''].every((part) => text.replace(/\s+/g, ' ').includes(part));
  const isIn = (problems: readonly Problem[]) =>
    problems.some((one) => one.code === code && one.sentence === sentence && one.next === next);
  const sample = `clinic_mirror_problems{tenant="${tenant ?? ''}",health="${health}",code="${code}"} `;
  const shown: Record<(typeof SURFACES)[number], boolean> = {
    status: says(renderStatus(view)),
    'status --json': isIn(view.problems),
    readiness: isIn(ready.problems),
    metrics: samples.includes(sample),
    alert: says(alertOf(view.problems, view.at)),
    Overview: isOnPage(page, problem),
    API: isIn(listed.problems),
    MCP: isIn((told.structuredContent as { problems: Problem[] }).problems),
  };
  return SURFACES.filter((surface) => shown[surface]);
}

/** When every problem has lasted long enough for a message. */
const TOLD_AFTER_MS = DAY_MS + 5 * MINUTE_MS;

/** The message to a recipient without earlier reports, once every problem has lasted long enough. */
function alertOf(problems: readonly Problem[], now: number): string {
  const { untold } = nextDigest(NOTHING_REPORTED, problems, now, 15 * MINUTE_MS);
  const later = now + TOLD_AFTER_MS;
  const { digest } = nextDigest(untold, problems, later, 15 * MINUTE_MS);
  return digest === null ? '' : textOf(digest, later, 'en').text;
}

/** Whether a webhook receives each of problems that begin, last and end together once at its begin, and once at its end. */
export function isToldOnce(problems: readonly Problem[], now: number): boolean {
  const told: { begun: string[]; over: string[] } = { begun: [], over: [] };
  let memory = NOTHING_REPORTED;
  for (const [afterMs, present] of [
    ...[0, TOLD_AFTER_MS].map((each) => [each, problems] as const),
    ...[1, 2, 3, 4].map((checks) => [TOLD_AFTER_MS + checks * MINUTE_MS, []] as const),
  ]) {
    const { digest, sent } = nextDigest(memory, present, now + afterMs, 15 * MINUTE_MS);
    memory = sent;
    if (digest === null) continue;
    const { begun, over } = payloadOf(digest, now + afterMs).data;
    told.begun.push(...begun.problems.map(idOf));
    told.over.push(...over.problems.map(idOf));
  }
  const ids = problems.map(idOf).sort().join();
  return told.begun.sort().join() === ids && told.over.sort().join() === ids;
}

function idOf({ tenant, subject, code }: Pick<Problem, 'tenant' | 'subject' | 'code'>): string {
  return `${tenant} ${subject} ${code}`;
}
