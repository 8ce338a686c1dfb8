import { CONFIG_FAULTS } from './config.ts';
import type { Fault } from './fault.ts';
import { HAND_FAULTS } from './hands.ts';
import { LATE_FAULTS } from './late.ts';
import { LIE_FAULTS } from './lies.ts';
import { MARK_FAULTS } from './marks.ts';
import { PATIENT_FAULTS } from './patients.ts';
import { PROCESS_FAULTS } from './processes.ts';
import { RECORD_FAULTS } from './records.ts';
import { REDIS_FAULTS } from './redis.ts';
import { STATE_FAULTS } from './state.ts';
import { TOKEN_FAULTS } from './tokens.ts';
import { WIRE_FAULTS } from './wire.ts';

/** Every fault by its name. */
export const FAULTS: ReadonlyMap<string, Fault> = new Map(
  Object.entries({
    ...PROCESS_FAULTS,
    ...LATE_FAULTS,
    ...WIRE_FAULTS,
    ...REDIS_FAULTS,
    ...STATE_FAULTS,
    ...TOKEN_FAULTS,
    ...LIE_FAULTS,
    ...HAND_FAULTS,
    ...CONFIG_FAULTS,
    ...RECORD_FAULTS,
    ...MARK_FAULTS,
    ...PATIENT_FAULTS,
  }),
);
