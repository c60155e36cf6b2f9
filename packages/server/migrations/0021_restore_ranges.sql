CREATE TABLE "restore_ranges" (
	"organization_id" text NOT NULL,
	"restore_id" text NOT NULL,
	"range" integer NOT NULL,
	"start_path" text,
	"end_path" text,
	"reached" text,
	"is_complete" boolean DEFAULT false NOT NULL,
	"epoch" integer DEFAULT 0 NOT NULL,
	"is_held" boolean DEFAULT false NOT NULL,
	"held_at" timestamp (3) with time zone,
	"is_heard" boolean DEFAULT false NOT NULL,
	"failures" integer DEFAULT 0 NOT NULL,
	"waiting_for" text,
	"error" jsonb,
	"written" jsonb NOT NULL,
	CONSTRAINT "restore_ranges_restore_id_range_pk" PRIMARY KEY("restore_id","range")
);
--> statement-breakpoint
ALTER TABLE "restore_ranges" ENABLE ROW LEVEL SECURITY;--> statement-breakpoint
ALTER TABLE "restores" ADD COLUMN "ranges_epoch" integer;--> statement-breakpoint
ALTER TABLE "restores" ADD COLUMN "ranges_began_at" timestamp (3) with time zone;--> statement-breakpoint
ALTER TABLE "restores" ADD COLUMN "ranges_stopped_at" timestamp (3) with time zone;--> statement-breakpoint
ALTER TABLE "restores" ADD COLUMN "own_written" jsonb;--> statement-breakpoint
ALTER TABLE "restore_ranges" ADD CONSTRAINT "restore_ranges_organization_id_organizations_id_fk" FOREIGN KEY ("organization_id") REFERENCES "public"."organizations"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "restore_ranges" ADD CONSTRAINT "restore_ranges_restore_id_restores_id_fk" FOREIGN KEY ("restore_id") REFERENCES "public"."restores"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "restores" ADD CONSTRAINT "restores_ranges_epoch" CHECK ("restores"."ranges_epoch" is null or "restores"."ranges_epoch" = "restores"."epoch");--> statement-breakpoint
CREATE POLICY "tenant" ON "restore_ranges" AS PERMISSIVE FOR ALL TO "holdfast_tenant" USING ("restore_ranges"."organization_id" = nullif(current_setting('holdfast.organization_id', true), '')) WITH CHECK ("restore_ranges"."organization_id" = nullif(current_setting('holdfast.organization_id', true), ''));--> statement-breakpoint
CREATE POLICY "system" ON "restore_ranges" AS PERMISSIVE FOR ALL TO "holdfast_system" USING (true) WITH CHECK (true);