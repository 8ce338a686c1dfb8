export { startMailSandbox } from './server.ts';
export type { MailSandbox, MailSandboxOptions } from './types.ts';
