import type { Text } from '../../messages/message.ts';
import type { StoredError } from './errors.ts';
import type { Instant } from './time.ts';

/** Work that is too long for one API request. */
export const TASK_KINDS = ['plan', 'apply', 'sync', 'audit', 'undo', 'forget', 'preview-forget'] as const;
export type TaskKind = (typeof TASK_KINDS)[number];

/** Long work of an API caller, readable by each process. */
export interface StoredTask {
  id: string;
  kind: TaskKind;
  beganAt: Instant;
  /** Refreshed every few seconds during the work, so that the silent end of a process is noticed. */
  aliveAt: Instant;
  state: 'running' | 'done' | 'failed';
  /** Current or last step; null before the first. */
  step: string | null;
  /** Result in the API's form; null while running or after a failure. */
  result: unknown;
  /** Cause of the failure; null otherwise. */
  error: StoredError | null;
}

/** Reports a step and, if known, the progress. */
export type Progress = (step: Text, done?: number, total?: number) => void;
