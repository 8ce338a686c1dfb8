import { expect } from 'vitest';
import type { Connector } from '../../../src/connectors/connector.ts';
import type { Logger } from '../../../src/core/log/logger.ts';
import { MirrorError } from '../../../src/core/model/errors.ts';
import type { Item } from '../../../src/core/model/items.ts';
import type { Outcome } from '../../../src/core/model/operations.ts';
import { containerOf } from '../../support/container-of.ts';
import { group } from '../contract-case.ts';
import { type AnyKit, type CalendarKit, deleteOperation, keyOf, signal, updateOperation } from '../contract-kit.ts';

/** Record ids that would identify the patient. */
const RECORD_IDS = ['patient-4711-canary', 'patient-0815-canary', 'patient-1234-canary'] as const;

/** Patient data is in the texts that the policy allowed, in request bodies, and nowhere else. */
export const privacy = group('privacy', {
  'record ids appear in no byte that leaves us': async (kit) => {
    await liveThrough(kit);
    const sent = kit.target.proxy.requests.map((request) => everyFormOf(JSON.stringify(request))).join('\n');
    for (const recordId of RECORD_IDS) expect(sent).not.toContain(recordId);
    for (const recordId of RECORD_IDS) expect(sent).not.toContain(Buffer.from(recordId).toString('base64url'));
  },
  "an item's texts appear in request bodies only": async (kit) => {
    await liveThrough(kit);
    const { requests } = kit.target.proxy;
    for (const text of kit.telling().texts) {
      expect(requests.some((request) => request.body.includes(text))).toBe(true);
      for (const { url, headers } of requests) {
        expect(everyFormOf(url + JSON.stringify(headers))).not.toContain(text);
      }
    }
  },
  'a request without item content contains none of its texts': async (kit) => {
    await liveThrough(kit);
    kit.target.proxy.forget();
    await kit.readAll();
    await kit.connector.find(kit.target.container, [keyOf(RECORD_IDS[0])], signal());
    await kit.attempt([deleteOperation(RECORD_IDS[0], null)]);
    const sent = JSON.stringify(kit.target.proxy.requests);
    for (const text of kit.telling().texts) expect(sent).not.toContain(text);
  },
  'logs and errors contain no texts, record ids or credentials': async (kit) => {
    const { log, lines } = recordingLog();
    const worker = kit.worker({ log });
    const outcomes = await liveThroughFaults(kit, worker);
    const header = await kit.target.authorizer.header(signal());
    const said = [...lines, ...outcomes.flatMap(wordsOf)].join('\n');
    for (const canary of [...kit.telling().texts, ...RECORD_IDS, header]) expect(said).not.toContain(canary);
    expect(outcomes.some((outcome) => outcome.result === 'failed')).toBe(true);
  },
});

/** Other users see a calendar, and calendars send mails. */
export const calendarPrivacy = group<CalendarKit>('privacy', {
  'every object is private, without guests and alarms, and no one gets mail': async (kit) => {
    await liveThrough(kit);
    const objects = await kit.objects();
    expect(objects.length).toBeGreaterThan(0);
    for (const object of objects) expect(object).toMatchObject({ isPrivate: true, attendees: 0, alarms: 0 });
    expect((await kit.target.server.mails()) ?? 0).toBe(0);
  },
});

async function liveThrough(kit: AnyKit): Promise<void> {
  const [a, b, c] = RECORD_IDS;
  const { item, changed } = kit.telling();
  await containerOf(kit.connector, null, signal());
  await kit.attempt([kit.toCreate(a, item), kit.toCreate(b, item), kit.toCreate(c, item)]);
  await kit.attempt([kit.toCreate(a, item), updateOperation(b, changed, null)]);
  await kit.attempt([deleteOperation(c, null)]);
  await kit.readAll();
}

async function liveThroughFaults(kit: AnyKit, worker: Connector<Item>): Promise<Outcome<Item>[]> {
  const { dialect, proxy } = kit.target;
  const outcomes: Outcome<Item>[] = [];
  const answers = [dialect.throttled(null), dialect.unauthorized(), dialect.forbidden(), dialect.unavailable()];
  const faults = [
    ...answers.map((answer) => ({ kind: 'answer', answer }) as const),
    ...(['cut', 'lost-answer', 'cut-body', 'html'] as const).map((kind) => ({ kind }) as const),
  ];
  for (const fault of faults) {
    proxy.add({ ...dialect.writes, fault });
    outcomes.push(...(await kit.attempt([kit.toCreate(RECORD_IDS[0], kit.telling().item)], worker)));
  }
  const poison = dialect.poison(kit.toCreate(RECORD_IDS[1], kit.telling().item));
  return [...outcomes, ...(await kit.attempt([poison], worker))];
}

/** Everything that a log could print of an outcome's error, causes included. */
function wordsOf(outcome: Outcome<Item>): string[] {
  if (outcome.result !== 'failed') return [];
  const words: string[] = [];
  for (let error: unknown = outcome.error; error instanceof Error; error = error.cause) {
    words.push(error.message, error.stack ?? '', JSON.stringify(error));
    if (!(error instanceof MirrorError)) words.push(JSON.stringify(Object.entries(error)));
  }
  return words;
}

function everyFormOf(text: string): string {
  try {
    return `${text}\n${decodeURIComponent(text)}`;
  } catch {
    return text;
  }
}

function recordingLog(): { log: Logger; lines: string[] } {
  const lines: string[] = [];
  const write = (data: object, message: string) => void lines.push(`${message} ${JSON.stringify(data)}`);
  const log: Logger = {
    debug: write,
    info: write,
    warn: write,
    error: write,
    child(data) {
      write(data, 'child');
      return log;
    },
  };
  return { log, lines };
}
