import { type LookupAddress, lookup as systemLookup } from 'node:dns';
import { type ClientRequestArgs, Agent as HttpAgent } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';
import { isIP, type LookupFunction } from 'node:net';
import type { Duplex } from 'node:stream';
import { EngineError } from '../ports/index.ts';

/** The connections a store may open. Shared by all calls of a store, closed with it. */
export interface StoreNetwork {
  httpAgent: HttpAgent;
  httpsAgent: HttpsAgent;
  destroy(): void;
}

export interface NetworkOptions {
  /** Asked for every address before it is dialled, literal or resolved; false refuses it. All are allowed without. */
  isAllowed?: (address: string) => boolean;
  connectionsMax?: number;
}

const connectionsMaxDefault = 32;

/**
 * Checks each address when it is dialled. A check of the host name alone could be fooled by a name that resolves
 * differently the second time.
 */
export function createStoreNetwork(options: NetworkOptions = {}): StoreNetwork {
  const settings = { keepAlive: true, maxSockets: options.connectionsMax ?? connectionsMaxDefault };
  const httpAgent = new HttpAgent(settings);
  const httpsAgent = new HttpsAgent(settings);
  if (options.isAllowed) for (const agent of [httpAgent, httpsAgent]) guard(agent, options.isAllowed);
  return {
    httpAgent,
    httpsAgent,
    destroy() {
      httpAgent.destroy();
      httpsAgent.destroy();
    },
  };
}

type Connect = (options: ClientRequestArgs, callback?: (error: Error | null, stream: Duplex) => void) => Duplex;

function guard(agent: HttpAgent, isAllowed: (address: string) => boolean): void {
  const connect = agent.createConnection.bind(agent) as Connect;
  const guarded: Connect = (options, callback) => {
    const host = (options.host ?? options.hostname ?? '').replace(/^\[|\]$/g, '');
    if (isIP(host) !== 0 && !isAllowed(host)) throw refused(host);
    return connect({ ...options, lookup: guardedLookup(isAllowed) }, callback);
  };
  agent.createConnection = guarded as typeof agent.createConnection;
}

function guardedLookup(isAllowed: (address: string) => boolean): LookupFunction {
  return (hostname, options, callback) => {
    systemLookup(hostname, { ...options, all: true }, (error, addresses: LookupAddress[]) => {
      if (error) return callback(error, '', 4);
      const blocked = addresses.find(({ address }) => !isAllowed(address));
      const [first] = addresses;
      if (blocked || !first) return callback(refused(hostname), '', 4);
      if (options.all) callback(null, addresses);
      else callback(null, first.address, first.family);
    });
  };
}

function refused(host: string): EngineError {
  return new EngineError('VALIDATION_ERROR', `Connections to ${host} are not allowed.`, { details: { host } });
}
