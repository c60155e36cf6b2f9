import type { Command } from 'commander';
import { wrongUsage } from '../../command-failure.ts';
import { readKeyFile } from '../key-file.ts';

export interface CredentialOptions {
  readonly accessKeyId?: string;
  readonly secretAccessKeyFile?: string;
  readonly serviceAccountKey?: string;
}

export function withCredentials(command: Command): Command {
  return command
    .option('--access-key-id <id>', 'of s3 and spaces (AWS_ACCESS_KEY_ID)')
    .option('--secret-access-key-file <file>', '- reads it from the input (AWS_SECRET_ACCESS_KEY)')
    .option('--service-account-key <file>', 'of gcs; - reads it from the input (GOOGLE_APPLICATION_CREDENTIALS)');
}

export async function googleKeyOf({ serviceAccountKey }: CredentialOptions): Promise<string> {
  const file = serviceAccountKey ?? process.env.GOOGLE_APPLICATION_CREDENTIALS;
  return await readKeyFile(required(file, '--service-account-key'));
}

/** The secret is never an argument, because everyone on the machine can read arguments. */
export async function keyPairOf({ accessKeyId, secretAccessKeyFile }: CredentialOptions) {
  const { AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY } = process.env;
  const secret = secretAccessKeyFile === undefined ? AWS_SECRET_ACCESS_KEY : await readKeyFile(secretAccessKeyFile);
  return {
    accessKeyId: required(accessKeyId ?? AWS_ACCESS_KEY_ID, '--access-key-id or AWS_ACCESS_KEY_ID'),
    secretAccessKey: required(secret?.trim(), '--secret-access-key-file or AWS_SECRET_ACCESS_KEY'),
  };
}

export function required(value: string | undefined, what: string): string {
  if (!value) throw wrongUsage(`Give ${what}.`);
  return value;
}
