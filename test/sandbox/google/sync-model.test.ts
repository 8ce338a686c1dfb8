import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { anEvent, type Bench, startBench } from './support.ts';

interface Write {
  kind: 'add' | 'edit' | 'delete';
  event: number;
}

/** Writes between two reads; a resync forgets the copy and the token. */
interface Round {
  writes: Write[];
  resync: boolean;
}

const rounds: fc.Arbitrary<Round[]> = fc.array(
  fc.record({
    writes: fc.array(fc.record({ kind: fc.constantFrom<Write['kind'][]>('add', 'edit', 'delete'), event: fc.nat(9) }), {
      maxLength: 12,
    }),
    resync: fc.boolean(),
  }),
  { minLength: 2, maxLength: 8 },
);

/** Applies the operation if the event's state allows it; `summary` is new each time. */
function write({ sandbox }: Bench, calendarId: string, { kind, event }: Write, summary: string): void {
  const id = `event${event}`;
  const status = sandbox.event(calendarId, id)?.status;
  if (kind === 'add' && status === undefined) {
    sandbox.addByHand(calendarId, anEvent({ id, summary }));
  } else if (kind === 'edit' && status !== undefined) {
    sandbox.editByHand(calendarId, id, { summary, status: 'confirmed' });
  } else if (kind === 'delete' && status === 'confirmed') {
    sandbox.deleteByHand(calendarId, id);
  }
}

/** Applies every page of a list to the copy and returns the next sync token. */
async function follow(
  { call }: Bench,
  calendarId: string,
  copy: Map<string, string>,
  syncToken: string | undefined,
): Promise<string> {
  const query = new URLSearchParams({ maxResults: '3', ...(syncToken === undefined ? {} : { syncToken }) });
  for (;;) {
    const { body } = await call('GET', `/calendars/${calendarId}/events?${query}`);
    for (const item of body.items) {
      if (item.status === 'cancelled') {
        copy.delete(item.id);
      } else {
        copy.set(item.id, item.summary);
      }
    }
    if (body.nextPageToken === undefined) {
      return body.nextSyncToken;
    }
    query.set('pageToken', body.nextPageToken);
  }
}

describe('a copy that follows the change feed', () => {
  it('holds what the calendar holds after every sync, however pages come', async () => {
    const bench = await startBench({ quotaPerUserPerMinute: Number.POSITIVE_INFINITY });
    let writes = 0;
    await fc.assert(
      fc.asyncProperty(rounds, fc.constantFrom('full', 'empty', 'short'), async (script, pageShape) => {
        bench.sandbox.configure({ pageShape });
        const calendarId = bench.sandbox.createCalendar('doctor@clinic.example', 'Model');
        let copy = new Map<string, string>();
        let token: string | undefined;
        for (const round of script) {
          for (const each of round.writes) {
            writes += 1;
            write(bench, calendarId, each, String(writes));
          }
          if (round.resync) {
            copy = new Map();
            token = undefined;
          }
          token = await follow(bench, calendarId, copy, token);
          const truth = bench.sandbox.events(calendarId).map((event) => [event.id, event.summary]);
          expect([...copy].sort()).toEqual(truth.sort());
        }
      }),
      { numRuns: 30 },
    );
    expect(writes).toBeGreaterThan(100);
  });
});
