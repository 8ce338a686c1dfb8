export type { CertificateWithKey } from '../kit/certificate.ts';
export type { FaultRule } from '../kit/faults.ts';
export type { PersonsAnswer } from '../kit/oauth/browser.ts';
export type { SeenEvent } from './by-hand.ts';
export type { EventResource } from './event-resource.ts';
export type { Application, GraphSandboxOptions } from './options.ts';
export { startGraphSandbox } from './sandbox.ts';
export type { LifecycleEvent, Subscription } from './subscriptions.ts';
export type { GraphSandbox } from './verbs.ts';
