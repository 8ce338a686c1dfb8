export type { FaultRule } from '../kit/faults.ts';
export { startSmsSandbox } from './sandbox.ts';
export type { Message, MessageStatus, SignedRequest, SmsSandbox, SmsSandboxOptions } from './types.ts';
