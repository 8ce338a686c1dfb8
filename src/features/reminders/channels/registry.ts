import type { ChannelModule } from './channel.ts';
import { dry } from './dry/index.ts';
import { email } from './email/index.ts';
import { sms } from './sms/index.ts';
import { webhook } from './webhook/index.ts';

const modules: readonly ChannelModule[] = [dry, email, sms, webhook];

/** Every channel by kind. Other modules contain no list of channels. */
export const reminderChannels: ReadonlyMap<string, ChannelModule> = new Map(
  modules.map((module) => [module.kind, module]),
);
