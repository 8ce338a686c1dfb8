import { randomUUID } from 'node:crypto';
import type { Logger } from '../../core/log/logger.ts';
import { asMirrorError, MirrorError, storedError } from '../../core/model/errors.ts';
import type { Progress, StoredTask, TaskKind } from '../../core/model/tasks.ts';
import { type Clock, SECOND_MS } from '../../core/model/time.ts';
import type { StopSignals } from '../../engine/push.ts';
import { message, render } from '../../messages/message.ts';
import { type Installation, requireTenant } from './installation.ts';

/** Interval of a task's heartbeat. */
const ALIVE_EVERY_MS = 5 * SECOND_MS;
/** Silence after which a task is lost with its process. */
const LOST_AFTER_MS = 30 * SECOND_MS;
/** Largest number of active tasks per tenant in a process, because they wait for the same leases. */
const MOST_AT_ONCE = 5;
/** Time for active tasks to stop at process exit. */
const STOP_GRACE_MS = SECOND_MS;

/** Public view of a task. `lost`: the process ended unexpectedly; the work can safely be started again. */
export interface TaskView extends Omit<StoredTask, 'aliveAt' | 'state'> {
  state: StoredTask['state'] | 'lost';
}

/** Work of a task. The result must be the API's answer. */
export type TaskWork = (progress: Progress, signals: StopSignals) => Promise<object>;

/** A task started in this process. */
export interface BegunTask {
  id: string;
  /** Result of the work. @throws errors of the work */
  result: Promise<object>;
}

/** Slow operations of API callers. A task continues without its caller, and every process can report its state. */
export interface Tasks {
  /** @throws MirrorError `settings`, code `no-such-tenant`; `remote`, code `too-many-tasks` */
  begin(tenant: string, kind: TaskKind, work: TaskWork): Promise<BegunTask>;
  /** Stops active tasks, and waits at most a second. */
  close(): Promise<void>;
}

/** Creates the tasks of a process. */
export function openTasks(installation: Installation, log: Logger): Tasks {
  const ending = new AbortController();
  const running = new Map<Promise<unknown>, string>();
  const signals = { stop: ending.signal, abort: ending.signal };
  return {
    async begin(tenantId, kind, work) {
      const tenant = requireTenant(installation, tenantId);
      if ([...running.values()].filter((id) => id === tenantId).length >= MOST_AT_ONCE) throw tooMany();
      const record = new TaskRecord(tenant, kind, log);
      const stored = record.save();
      const result = stored.then(() => record.follow(work(record.progress, signals)));
      const ended: Promise<unknown> = result.then(
        () => running.delete(ended),
        () => running.delete(ended),
      );
      running.set(ended, tenantId);
      await stored;
      return { id: record.task.id, result };
    },
    async close() {
      ending.abort();
      const deadline = new Promise((resolve) => setTimeout(resolve, STOP_GRACE_MS).unref());
      await Promise.race([Promise.all(running.keys()), deadline]);
    },
  };
}

/** Returns a task of any process. @throws MirrorError `settings`, code `no-such-task` or `no-such-tenant` */
export async function readTask(installation: Installation, tenantId: string, id: string): Promise<TaskView> {
  const { tasks, clock } = requireTenant(installation, tenantId);
  const task = await tasks.read(id);
  if (task === null) throw noSuchTask();
  const { aliveAt, state, ...others } = task;
  return { ...others, state: state === 'running' && aliveAt < clock() - LOST_AFTER_MS ? 'lost' : state };
}

/** Where a task is stored, and the time of its heartbeats. */
interface TaskStorage {
  tasks: { put(id: string, task: StoredTask): Promise<void> };
  clock: Clock;
}

/** Stores the state of an active task. */
class TaskRecord {
  readonly task: StoredTask;
  readonly #storage: TaskStorage;
  readonly #log: Logger;

  constructor(storage: TaskStorage, kind: TaskKind, log: Logger) {
    const beganAt = storage.clock();
    const nothing = { step: null, result: null, error: null };
    this.task = { id: randomUUID(), kind, beganAt, aliveAt: beganAt, state: 'running', ...nothing };
    this.#storage = storage;
    this.#log = log;
  }

  readonly progress: Progress = (step) => {
    this.task.step = render(step);
  };

  async save(): Promise<void> {
    this.task.aliveAt = this.#storage.clock();
    await this.#storage.tasks.put(this.task.id, this.task);
  }

  async follow(work: Promise<object>): Promise<object> {
    const alive = setInterval(() => void this.#saveIfPossible(), ALIVE_EVERY_MS);
    try {
      const result = await work;
      Object.assign(this.task, { state: 'done', result });
      return result;
    } catch (thrown) {
      Object.assign(this.task, { state: 'failed', error: storedError(asMirrorError(thrown)) });
      throw thrown;
    } finally {
      clearInterval(alive);
      await this.#saveIfPossible();
    }
  }

  /** A failed save is repeated at the next heartbeat, or the task is reported as lost. */
  async #saveIfPossible(): Promise<void> {
    await this.save().catch((error: unknown) => this.#log.warn({ error }, 'task could not be stored'));
  }
}

function noSuchTask(): MirrorError {
  return new MirrorError(message('no-such-task'), {
    actor: 'settings',
    code: 'no-such-task',
    retry: 'never',
    remedy: message('no-such-task.remedy'),
  });
}

function tooMany(): MirrorError {
  return new MirrorError(message('too-many-tasks'), {
    actor: 'remote',
    code: 'too-many-tasks',
    retry: 'later',
    retryAfterMs: 10 * SECOND_MS,
    remedy: message('too-many-tasks.remedy'),
  });
}
