import { expect, test } from 'vitest';
import { openCalendars } from '../../../src/connectors/google-calendar/connector.ts';
import { prepareCalendar } from '../../../src/connectors/owner.ts';

/** An account whose calendars are all made before any of their makers gets an answer. */
function accountWhereAllCreateAtOnce(workers: number) {
  const items: { id: string; description: string }[] = [];
  const answer = (body: unknown) => ({ status: 200, body, retryAfterMs: null });
  const everybodyCreated = Promise.withResolvers<void>();
  return {
    items,
    get: async () => ({ status: 404, body: undefined, retryAfterMs: null }),
    list: async () => answer({ items: [...items] }),
    async insert({ description }: { description: string }) {
      const made = { id: `c_${workers - items.length}`, description };
      items.push(made);
      if (items.length === workers) everybodyCreated.resolve();
      await everybodyCreated.promise;
      return answer(made);
    },
  };
}

test('workers that create their calendar at the same moment agree on the one with the lowest id', async () => {
  const account = accountWhereAllCreateAtOnce(3);
  const prepare = (ownerTag: string) =>
    prepareCalendar(openCalendars(account, ownerTag, null), { create: 'Appointments' }, null);
  expect(await Promise.all(['ownerTag', 'ownerTag', 'ownerTag'].map(prepare))).toEqual(['c_1', 'c_1', 'c_1']);
  expect(await prepare('ownerTag')).toBe('c_1');
  expect(account.items).toHaveLength(3);
});
