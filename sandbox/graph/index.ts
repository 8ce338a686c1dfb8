export type { CertificateWithKey } from '../kit/certificate.ts';
export type { PersonsAnswer } from '../kit/oauth/browser.ts';
export type { SeenEvent } from './by-hand.ts';
export type { GraphSandboxOptions } from './options.ts';
export { startGraphSandbox } from './sandbox.ts';
export type { GraphSandbox } from './verbs.ts';
