import type { Counts } from '../kit/counts.ts';
import type { FaultPlan } from '../kit/faults.ts';
import type { RunningServer } from '../kit/listen.ts';
import type { Recording } from '../kit/recording.ts';

/** How the gateway begins. */
export interface SmsSandboxOptions {
  /** Default: a free one. */
  port?: number;
  /** Seed of the fault rules' generators. */
  seed?: number;
  /** Numbers and names that messages may come from. Default `+15005550006`. */
  senders?: string[];
}

/** States that a message goes through (https://www.twilio.com/docs/messaging/api/message-resource, "status"). */
export type MessageStatus = 'queued' | 'sent' | 'delivered' | 'undelivered' | 'failed';

/** A message that was accepted: what a phone would get. */
export interface Message {
  sid: string;
  to: string;
  from: string | null;
  messagingServiceSid: string | null;
  body: string;
  validitySeconds: number | null;
  statusCallback: string | null;
  status: MessageStatus;
  errorCode: number | null;
}

/** A request that the gateway makes, signed. */
export interface SignedRequest {
  url: string;
  headers: Record<string, string>;
  body: string;
}

/** A running gateway: its account, the messages to phones, later reports and replies, and faults. */
export interface SmsSandbox extends RunningServer {
  accountSid: string;
  authToken: string;
  messagingServiceSid: string;
  /** A number that may be sent from. */
  from: string;
  faults: FaultPlan;
  /** `sms:<number>` for each message accepted for a phone, and the kit's own figures. */
  counts: Counts;
  recording: Recording;
  /** Oldest first; all, or those to one number. */
  messages(to?: string): Message[];
  /** Forgets the messages. */
  clear(): void;
  /** Sets a message's state. @returns the status report, ready for `post`; null if none was requested. @throws Error on an unknown sid */
  report(sid: string, status: MessageStatus, errorCode?: number): SignedRequest | null;
  /** Simulates a phone's reply and remembers STOP and START. @returns the request to the URL for incoming messages */
  reply(from: string, text: string, address: string): SignedRequest;
  /** Sends a signed request and gives the status of its answer. */
  post(request: SignedRequest): Promise<number>;
}
