/**
 * Mirrors a to-do list into a second list with the engine alone: no clinic, no Redis, no queue. Run it with `node examples/todo.ts`.
 * A cycle reads the list, compares it with the last writes and plans; the lane writes the plan to the copy.
 */
import { commitCycle } from '../src/engine/commit.ts';
import { planCycle } from '../src/engine/cycle.ts';
import { openMemoryEngine } from '../src/engine/memory/engine.ts';
import { MemorySource } from '../src/engine/memory/source.ts';
import { createMemoryState } from '../src/engine/memory/store.ts';
import { MemoryTarget } from '../src/engine/memory/target.ts';
import { pushTarget } from '../src/engine/push.ts';

const NEVER = new AbortController().signal;
const MINUTE_MS = 60_000;

/** Two lists: the first one is edited, the second one follows. */
export interface TodoMirror {
  /** Adds a task, or changes its text. */
  write(id: string, text: string): void;
  remove(id: string): void;
  /** One cycle and the writes that it planned. @returns what was planned, and what waits for a decision */
  sync(): Promise<{ planned: string[]; held: number }>;
  /** Texts of the second list. */
  copy(): string[];
  /** Approves everything that waits. */
  approve(): Promise<void>;
}

/** Opens both lists. @param now milliseconds since 1970; each sync takes one minute */
export function openTodoMirror(now = Date.UTC(2026, 0, 1)): TodoMirror {
  let time = now;
  const clock = () => time;
  const source = new MemorySource(clock, ['tasks']);
  const { records } = source.stream('tasks');
  const connector = new MemoryTarget();
  const state = createMemoryState(clock);
  const engine = openMemoryEngine({ state, source, targets: [{ id: 'copy', stream: 'tasks', connector }] });
  return {
    write: (id, text) => void records.set(id, { id, title: text }),
    remove: (id) => void records.delete(id),
    async sync() {
      time += MINUTE_MS;
      const lease = await engine.leases.tryTake('plan');
      if (lease === null) throw new Error('another cycle runs');
      const cycle = await planCycle(engine, { lease, progress: () => {} }, NEVER);
      await commitCycle(engine, cycle, lease, { run: String(time), wake: async () => {} });
      state.runs.add(time);
      await lease.release();
      for (const target of engine.targets.values()) await pushTarget(engine, target, { stop: NEVER, abort: NEVER });
      const planned = cycle.plans.flatMap(({ permitted }) =>
        permitted.map(({ recordId, reason }) => `${recordId}: ${reason}`),
      );
      return { planned, held: (await engine.holds.list()).filter(({ state }) => state === 'open').length };
    },
    copy: () => [...connector.objects.values()].map(({ item }) => ('title' in item ? item.title : '')).sort(),
    async approve() {
      for (const hold of await state.holds.list())
        await state.holds.decide(hold.id, { state: 'approved', now: time, expiresAt: time + 60 * MINUTE_MS });
    },
  };
}

if (import.meta.main) {
  const todo = openTodoMirror();
  todo.write('1', 'call the lab');
  todo.write('2', 'order gloves');
  console.log(await todo.sync(), todo.copy());
  todo.write('2', 'order gloves, size M');
  todo.remove('1');
  // A task that is gone is removed only when a second reading misses it too.
  console.log(await todo.sync(), todo.copy());
  console.log(await todo.sync(), todo.copy());
}
