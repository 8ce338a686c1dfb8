export type { FaultRule } from '../kit/faults.ts';
export { startMailSandbox } from './server.ts';
export type { MailSandbox, MailSandboxOptions, TakenMail } from './types.ts';
