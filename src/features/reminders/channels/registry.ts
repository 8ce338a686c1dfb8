import type { ChannelModule } from './channel.ts';
import { dry } from './dry/index.ts';
import { email } from './email/index.ts';
import { sms } from './sms/index.ts';
import { webhook } from './webhook/index.ts';

const modules: readonly ChannelModule[] = [dry, email, sms, webhook];

/** Every channel by its kind: the one place that knows them all. */
export const reminderChannels: ReadonlyMap<string, ChannelModule> = new Map(
  modules.map((module) => [module.kind, module]),
);
