import { randomInt } from 'node:crypto';
import { findClient } from './client-authentication.ts';
import { newToken } from './token-store.ts';
import type { Client, DeviceRules, Grant, OAuthVendor } from './vendor.ts';
import { refusalOf } from './words.ts';

interface DeviceRequest<C extends Client> {
  client: C;
  scopes: string[];
  userCode: string;
  /** Epoch ms. */
  expiresAt: number;
  answer: { account: string } | 'declined' | undefined;
}

/** Letters and digits that can't be taken for one another. */
const ALPHABET = 'ABCDEFGHJKLMNPQRSTUVWXYZ23456789';

/** Devices that wait for a user's approval (RFC 8628). */
export class Devices<C extends Client, G extends Grant> {
  readonly #vendor: OAuthVendor<C, G>;
  readonly #waiting = new Map<string, DeviceRequest<C>>();

  constructor(vendor: OAuthVendor<C, G>) {
    this.#vendor = vendor;
  }

  /** A new device code with the code that the person types (section 3.2). Throws OAuthError. */
  begin(form: URLSearchParams): { deviceCode: string; userCode: string } {
    const { words, parseScopes, now } = this.#vendor;
    const rules = this.#rules();
    const client = findClient(this.#vendor, form.get('client_id'));
    const scopes = parseScopes?.(form.get('scope') ?? '');
    if (!scopes) throw refusalOf(words, 'scopeUnknown');
    const deviceCode = newToken(rules.code);
    const userCode = Array.from({ length: 9 }, () => ALPHABET[randomInt(ALPHABET.length)]).join('');
    const expiresAt = now() + rules.lifetimeMs();
    this.#waiting.set(deviceCode, { client, scopes, userCode, expiresAt, answer: undefined });
    return { deviceCode, userCode };
  }

  /** The person's answer for the device that shows this code; false when none does. */
  answer(userCode: string, answer: { account: string } | 'declined'): boolean {
    const device = [...this.#waiting.values()].find((each) => each.userCode === userCode.trim().toUpperCase());
    if (!device || device.expiresAt <= this.#vendor.now()) return false;
    device.answer = answer;
    return true;
  }

  /** Returns the grant of a device's code. Throws OAuthError, also before a user has approved. */
  poll(deviceCode: string, { clientId }: C): G {
    const { words, now } = this.#vendor;
    const device = this.#waiting.get(deviceCode);
    if (!device || device.client.clientId !== clientId) throw refusalOf(words, 'deviceUnknown');
    if (device.expiresAt <= now()) throw refusalOf(words, 'deviceExpired');
    if (device.answer === undefined) throw refusalOf(words, 'devicePending');
    if (device.answer === 'declined') throw refusalOf(words, 'deviceDeclined');
    this.#waiting.delete(deviceCode);
    return this.#rules().grant(device.answer.account, device.client, device.scopes);
  }

  #rules(): DeviceRules<C, G> {
    if (!this.#vendor.device) throw new Error('The vendor has no device flow');
    return this.#vendor.device;
  }
}
