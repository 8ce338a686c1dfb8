import type { Text } from '../messages/message.ts';
import type { StoredError } from './errors.ts';
import type { Instant } from './time.ts';

/** What takes longer than a caller of the API should have to wait. */
export const TASK_KINDS = ['plan', 'apply', 'sync', 'audit', 'undo', 'forget', 'preview-forget'] as const;
/** Such work. */
export type TaskKind = (typeof TASK_KINDS)[number];

/** Long work that a caller of the API began, as any process can tell of it. */
export interface StoredTask {
  id: string;
  kind: TaskKind;
  beganAt: Instant;
  /** Told again every few seconds while it goes on: a process that ends without a word is noticed by it. */
  aliveAt: Instant;
  state: 'running' | 'done' | 'failed';
  /** The step that it is at, or was last; null before the first. */
  step: string | null;
  /** As the API answers it; null while it runs, and when it failed. */
  result: unknown;
  /** Why it failed; null otherwise. */
  error: StoredError | null;
}

/** Progress for whoever watches: a word and, where known, how far. */
export type Progress = (step: Text, done?: number, total?: number) => void;
