import type { Counts } from './counts.ts';
import type { FaultPlan } from './faults.ts';
import type { SandboxKit } from './kit.ts';
import type { RunningServer } from './listen.ts';
import type { Recording } from './recording.ts';

/** Verbs of every running vendor sandbox. `Changes` are the options that can change while the sandbox runs. */
export interface CommonVerbs<Changes> extends RunningServer {
  /** The kit's own figures: by method, route pattern and status. */
  requests: Counts;
  faults: FaultPlan;
  recording: Recording;
  /** Changes options while it runs. */
  configure(changes: Partial<Changes>): void;
}

/** Makes the common verbs of a sandbox; `settings` are modified directly. */
export function commonVerbs<Changes extends object>(
  server: RunningServer,
  { counts, faults, recording }: SandboxKit,
  settings: Changes,
): CommonVerbs<Changes> {
  return {
    ...server,
    requests: counts,
    faults,
    recording,
    configure: (changes) => void Object.assign(settings, changes),
  };
}
