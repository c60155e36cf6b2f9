ALTER TABLE "backups" ADD COLUMN "log_id" text;--> statement-breakpoint
UPDATE "backups" SET "log_id" = 'any' WHERE "trigger" <> 'pre_restore';--> statement-breakpoint
ALTER TABLE "pitr_logs" ADD COLUMN "joined" jsonb DEFAULT '[]'::jsonb NOT NULL;