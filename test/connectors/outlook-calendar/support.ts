import { onTestFinished } from 'vitest';
import type { ProxiedAnswer } from '../../../sandbox/kit/fault-proxy.ts';
import { outlookCalendar } from '../../../src/connectors/outlook-calendar/index.ts';
import { SharedState } from '../../../src/connectors/shared-state.ts';
import { createHttpClient } from '../../../src/core/http/client.ts';
import { silentLogger } from '../../../src/core/log/logger.ts';
import { createKit, MARK } from '../../contract/contract-kit.ts';
import { ACCOUNT, openOutlookTarget } from '../../contract/outlook-calendar-target.ts';
import { paced } from '../../support/pace.ts';

/** Batches that write. */
export const WRITES = { method: /^POST$/, url: /\/\$batch$/, body: /"method":"(POST|PATCH|DELETE)"/ };

/** Opens the sandbox behind the proxy with the suite's kit, and a way to open workers with other settings. */
export async function openWorld() {
  const target = await openOutlookTarget();
  onTestFinished(() => target.close());
  const { sandbox, proxy, container } = target;
  const shared = new SharedState();
  const open = (settings: object = {}, ownerTag = MARK, authorizer = target.authorizer) =>
    outlookCalendar.open({
      ownerTag,
      authorizer,
      http: createHttpClient({ userAgent: 'test', clock: Date.now, timeoutMs: paced(10_000) }),
      shared,
      log: silentLogger,
      clock: Date.now,
      settings: outlookCalendar.settingsSchema.parse({
        mailbox: ACCOUNT,
        calendar: { id: container },
        rootUrl: proxy.url,
        ...settings,
      }),
    });
  return { target, sandbox, proxy, container, kit: createKit(target), open };
}

/** Replaces the server's answer to every inner request with such a method. */
export function inner(method: string, answers: readonly { status: number; headers?: object; body?: unknown }[]) {
  let next = 0;
  return (answer: ProxiedAnswer, request: { body: string }): ProxiedAnswer => {
    const { requests } = JSON.parse(request.body) as { requests: { id: string; method: string }[] };
    const { responses } = JSON.parse(answer.body.toString()) as { responses: { id: string }[] };
    const changed = requests.map(({ id, method: each }) => {
      const replaced = each === method ? answers[next++] : undefined;
      return replaced === undefined ? responses.find((one) => one.id === id) : { id, ...replaced };
    });
    return { ...answer, body: JSON.stringify({ responses: changed.toReversed() }) };
  };
}
