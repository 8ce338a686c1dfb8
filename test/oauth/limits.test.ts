import { afterAll, expect, test } from 'vitest';
import { BEGIN, FORMS, LIMIT_MS, LimitTable } from '../support/limit-forms.ts';
import { useRedis } from '../support/redis.ts';
import { connect, NEVER, openWorker } from './connection.ts';
import { startTokenServer, tokensNamed } from './token-server.ts';

const redis = useRedis();
const table = new LimitTable();
afterAll(() => table.print());

test.each(Object.entries(FORMS))(
  'a token endpoint that limits requests for 20 seconds, shown by %s, refuses at most two, and is queried again within 10 s',
  async (form, headersAt) => {
    const server = await startTokenServer();
    const time = { now: BEGIN + 300 };
    let refused = 0;
    server.onToken = () => {
      if (time.now >= BEGIN + LIMIT_MS) return { body: { ...tokensNamed(1), expires_in: 3_600 } };
      refused += 1;
      const headers = { date: new Date(time.now).toUTCString(), ...headersAt(time.now) };
      return { status: 429, headers, body: {} };
    };
    const clock = () => time.now;
    const worker = openWorker({ redis: redis.connect(), issuer: server.url, clock });
    await connect(worker, { accessExpiresAt: BEGIN - 1 });
    const told: number[] = [];
    for (let round = 0; round < 200; round += 1) {
      const failure = await worker.authorizer.header(NEVER).then(
        () => null,
        (error: { retryAfterMs?: number }) => error,
      );
      if (failure === null) break;
      told.push(time.now + (failure.retryAfterMs ?? 0));
      time.now += 500;
    }
    const lasted = { refused, lateMs: time.now - BEGIN - LIMIT_MS };
    table.note(form, 'token endpoint', [lasted]);
    expect(lasted.refused).toBeLessThanOrEqual(2);
    expect(lasted.lateMs).toBeLessThanOrEqual(10_000);
    // A request that is refused only by the wait gets the remaining time, and comes back when that time is over.
    if (form === 'Retry-After in seconds') expect(new Set(told).size).toBe(1);
  },
);
