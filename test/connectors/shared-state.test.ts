import { expect, test } from 'vitest';
import { SharedState } from '../../src/connectors/shared-state.ts';

class Calls {
  count = 0;
}
class Waits {
  untilAt = 0;
}

test('targets that use the same name share one state of each kind, and nobody else does', () => {
  const shared = new SharedState();
  shared.of(Calls, 'org').count = 3;
  expect(shared.of(Calls, 'org').count).toBe(3);
  expect(shared.of(Calls, 'another org').count).toBe(0);
  expect(shared.of(Waits, 'org').untilAt).toBe(0);
  expect(new SharedState().of(Calls, 'org').count).toBe(0);
});

test('an object is a name that only itself is equal to', () => {
  const shared = new SharedState();
  const login = {};
  shared.of(Calls, login).count = 3;
  expect(shared.of(Calls, login).count).toBe(3);
  expect(shared.of(Calls, {}).count).toBe(0);
});
